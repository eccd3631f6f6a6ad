import { isJsonObject } from '../../json/is-json-object.ts';
import { rootsIn } from './mentions.ts';

/** Whether a list of deleted records is for one partition: the document mentions `each`. */
export function namesPartition({ request, key }: { readonly request?: unknown; readonly key?: unknown }): boolean {
  const { path, url, ...rest } = isJsonObject(request) ? request : {};
  return [
    rootsIn('path', { path: '', value: path }),
    rootsIn('path', { path: '', value: url }),
    rootsIn('templates', { path: '', value: rest }),
    rootsIn('expression', { path: '', value: key }),
  ].some((roots) => roots.has('each'));
}
