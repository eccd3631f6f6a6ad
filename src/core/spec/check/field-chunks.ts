import { type Issue, issueIf } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { textsIn, valuesAt } from './document-paths.ts';

export function checkFieldChunks(document: unknown): readonly Issue[] {
  return valuesAt(document, 'resources.*').flatMap(({ path, value }) => {
    if (!isJsonObject(value) || !isJsonObject(value['fieldChunks'])) return [];
    const { size, maxLength } = value['fieldChunks'];
    const { kind } = objectIn(value, 'pagination');
    const { mode } = objectIn(objectIn(value, 'request'), 'cache');
    const isSent = textsIn({ path: '', value: value['request'] }).some((text) => /\bchunk\b/.test(text.value));
    const at = `${path}.fieldChunks`;
    return [
      ...issueIf(size === undefined && maxLength === undefined, at, 'expected at least one of `size` and `maxLength`'),
      ...issueIf(!isSent, at, 'the request does not send `chunk.fields`, so all chunks are the same'),
      ...issueIf(
        kind === 'next_url' || kind === 'link_header',
        `${path}.pagination.kind`,
        'the address of the next page has the fields of one chunk: use another kind, or remove `fieldChunks`',
      ),
      ...issueIf(
        mode !== undefined && mode !== 'none',
        `${path}.request.cache.mode`,
        'a page of several requests cannot be cached: remove `cache`, or `fieldChunks`',
      ),
    ];
  });
}

function objectIn(value: Readonly<Record<string, unknown>>, key: string): Readonly<Record<string, unknown>> {
  const child = value[key];
  return isJsonObject(child) ? child : {};
}
