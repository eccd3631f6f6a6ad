/** Of the element type `text`, in the catalogue of every PostgreSQL. */
const textOid = 25;

/** Numbers before the first element: dimensions, whether there are nulls, type of the elements, how many, first index. */
const headBytes = 20;
const lengthBytes = 4;
const nullLength = -1;

/** In place of each length but the first, while the texts are put together. */
const lengthPlace = '\0\0\0\0';

/**
 * A list of texts as PostgreSQL's protocol carries a `text[]` in binary: nothing to escape here, nothing to parse there.
 * Texts that are all ASCII, as most are, are written as one, with their lengths in between.
 */
export function textArray(values: readonly (string | null)[]): Buffer {
  return ofAsciiTexts(values) ?? ofAnyTexts(values);
}

/** Null: not all of them are ASCII, or there are none. */
function ofAsciiTexts(values: readonly (string | null)[]): Buffer | null {
  const text = values.join(lengthPlace);
  if (values.length === 0 || Buffer.byteLength(text) !== text.length) return null;
  const hasNulls = values.includes(null);
  const bytes = withHead(headBytes + lengthBytes + text.length, { count: values.length, hasNulls });
  bytes.write(text, headBytes + lengthBytes, 'latin1');
  let at = headBytes;
  for (const value of values) at = bytes.writeInt32BE(value?.length ?? nullLength, at) + (value?.length ?? 0);
  return bytes;
}

function ofAnyTexts(values: readonly (string | null)[]): Buffer {
  let size = headBytes;
  for (const value of values) size += lengthBytes + (value === null ? 0 : Buffer.byteLength(value));
  const bytes = withHead(size, { count: values.length, hasNulls: values.includes(null) });
  let at = headBytes;
  for (const value of values) {
    const length = value === null ? 0 : bytes.write(value, at + lengthBytes);
    bytes.writeInt32BE(value === null ? nullLength : length, at);
    at += lengthBytes + length;
  }
  return bytes;
}

function withHead(size: number, { count, hasNulls }: { readonly count: number; readonly hasNulls: boolean }): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  for (const [index, number] of [1, hasNulls ? 1 : 0, textOid, count, 1].entries())
    bytes.writeInt32BE(number, index * 4);
  return bytes;
}
