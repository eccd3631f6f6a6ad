/** Of element types, in the catalogue of every PostgreSQL. */
const oids = { bytea: 17, text: 25 } as const;

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
  const bytes = withHead(headBytes + lengthBytes + text.length, { oid: oids.text, count: values.length, hasNulls });
  bytes.write(text, headBytes + lengthBytes, 'latin1');
  let at = headBytes;
  for (const value of values) at = bytes.writeInt32BE(value?.length ?? nullLength, at) + (value?.length ?? 0);
  return bytes;
}

function ofAnyTexts(values: readonly (string | null)[]): Buffer {
  let size = headBytes;
  for (const value of values) size += lengthBytes + (value === null ? 0 : Buffer.byteLength(value));
  const bytes = withHead(size, { oid: oids.text, count: values.length, hasNulls: values.includes(null) });
  let at = headBytes;
  for (const value of values) {
    const length = value === null ? 0 : bytes.write(value, at + lengthBytes);
    bytes.writeInt32BE(value === null ? nullLength : length, at);
    at += lengthBytes + length;
  }
  return bytes;
}

/** A list of bytes, each given in base64url, as PostgreSQL's protocol carries a `bytea[]` in binary. */
export function bytesArray(values: readonly string[]): Buffer {
  let size = headBytes;
  for (const value of values) size += lengthBytes + Buffer.byteLength(value, 'base64url');
  const bytes = withHead(size, { oid: oids.bytea, count: values.length, hasNulls: false });
  let at = headBytes;
  for (const value of values) {
    const length = bytes.write(value, at + lengthBytes, 'base64url');
    bytes.writeInt32BE(length, at);
    at += lengthBytes + length;
  }
  return bytes.subarray(0, at);
}

/** How values of one length are written. */
interface FixedForm {
  /** Of the element type. */
  readonly oid: number;
  /** Bytes of each. */
  readonly size: number;
  /** False: it cannot write this one. */
  readonly write: (bytes: Buffer, at: number, value: string) => boolean;
}

/** A list of values of one length as PostgreSQL's protocol carries it in binary; null: one of them cannot be written. */
export function fixedArray(values: readonly (string | null)[], { oid, size, write }: FixedForm): Buffer | null {
  const bytes = withHead(headBytes + values.length * (lengthBytes + size), {
    oid,
    count: values.length,
    hasNulls: values.includes(null),
  });
  let at = headBytes;
  for (const value of values) {
    at = bytes.writeInt32BE(value === null ? nullLength : size, at);
    if (value === null) continue;
    if (!write(bytes, at, value)) return null;
    at += size;
  }
  return bytes.subarray(0, at);
}

interface Head {
  readonly oid: number;
  readonly count: number;
  readonly hasNulls: boolean;
}

function withHead(size: number, { oid, count, hasNulls }: Head): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  for (const [index, number] of [1, hasNulls ? 1 : 0, oid, count, 1].entries()) bytes.writeInt32BE(number, index * 4);
  return bytes;
}
