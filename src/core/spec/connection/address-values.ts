import { type Located, requestPaths, textsIn, valuesAt } from '../check/document-paths.ts';
import { hasFixedEnd } from '../check/fixed-end.ts';
import type { ConnectorSpec } from '../schema/spec-schema.ts';
import { isWithin, type Names, valuesNamedAt, valuesNamedIn } from './mentions.ts';

/** Names of the values of a connection that decide to which host its requests go; `null` among them means any. */
export function addressValues(spec: ConnectorSpec): Names {
  const urls = [
    ...valuesAt(spec, 'http.baseUrl'),
    ...requestPaths.flatMap((at) => valuesAt(spec, `${at}.url`)),
    ...['auth', 'resources.*.auth'].flatMap((at) => valuesAt(spec, at).flatMap(textsIn)).filter(isUrl),
  ];
  const open = urls.filter((url): url is Text => typeof url.value === 'string' && !hasFixedEnd(url.value));
  return new Set(open.flatMap(({ path, value }) => [...valuesNamedIn({ path, value: authorityIn(value) })]));
}

/** Names of the secrets that requests to an API have; those of the destination go elsewhere. */
export function sentSecrets(spec: ConnectorSpec): readonly string[] {
  const isDestination = isWithin(['destination']);
  const named = valuesNamedAt(spec, (at) => !isDestination(at));
  const secrets = spec.connectionParams.filter(({ secret }) => secret);
  return secrets.map(({ key }) => key).filter((key) => named.has(key) || named.has(null));
}

type Text = Located & { readonly value: string };

const isUrl = ({ path }: Located): boolean => /(?:^|\.)\w*url$/i.test(path);

/** All before the path: the scheme too, as a value may be the whole URL. */
const authorityIn = (url: string): string => /^(?:https?:\/\/)?(?:\{\{.*?\}\}|[^/?#{])*/i.exec(url)?.[0] ?? url;
