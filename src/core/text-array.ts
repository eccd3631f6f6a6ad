/** Of the element type `text`, in the catalogue of every PostgreSQL. */
const textOid = 25;

/** Numbers before the first element: dimensions, whether there are nulls, type of the elements, how many, first index. */
const headBytes = 20;
const lengthBytes = 4;
const nullLength = -1;

/** How many bytes follow, where one byte can say it. */
const shortMax = 127;
const shortLengths = Array.from({ length: shortMax + 1 }, (_, length) => `\0\0\0${String.fromCharCode(length)}`);

/**
 * A list of texts as PostgreSQL's protocol carries a `text[]` in binary: nothing to escape here, nothing to parse there. A
 * list of short ASCII texts, as most are, is written as one text, with the lengths in between as characters.
 */
export function textArray(values: readonly (string | null)[]): Buffer {
  return ofShortTexts(values) ?? ofAnyTexts(values);
}

/** Null: not all of them are short and ASCII. */
function ofShortTexts(values: readonly (string | null)[]): Buffer | null {
  const parts: string[] = [];
  for (const value of values) {
    if (value === null || value.length > shortMax) return null;
    parts.push(`${shortLengths[value.length]}${value}`);
  }
  const text = parts.join('');
  if (Buffer.byteLength(text) !== text.length) return null;
  const bytes = withHead(headBytes + text.length, { count: values.length, hasNulls: false });
  bytes.write(text, headBytes, 'latin1');
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
