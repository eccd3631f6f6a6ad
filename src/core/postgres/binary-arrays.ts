/** The oids of element types, in the catalogue of every PostgreSQL. */
const oids = { bytea: 17, text: 25 } as const;

/** Numbers before the first element: dimensions, whether there are nulls, type of the elements, how many, first index. */
const headBytes = 20;
const lengthBytes = 4;
const nullLength = -1;

/** The text in place of each length but the first, while the texts are put together. */
const lengthPlace = '....';

/**
 * A list of texts as PostgreSQL's protocol carries a `text[]` in binary: nothing to escape here, nothing to parse there.
 * They are encoded as one, with their lengths in between.
 */
export function textArray(values: readonly (string | null)[]): Buffer {
  const text = values.join(lengthPlace);
  const size = Buffer.byteLength(text);
  const isAscii = size === text.length;
  const { bytes, view } = withHead(headBytes + lengthBytes + size, {
    oid: oids.text,
    count: values.length,
    hasNulls: values.includes(null),
  });
  bytes.write(text, headBytes + lengthBytes, isAscii ? 'latin1' : 'utf8');
  let at = headBytes;
  for (const value of values) {
    const length = value === null ? 0 : isAscii ? value.length : Buffer.byteLength(value);
    view.setInt32(at, value === null ? nullLength : length);
    at += lengthBytes + length;
  }
  return bytes.subarray(0, at);
}

/** A list of bytes, each given in base64url, as PostgreSQL's protocol carries a `bytea[]` in binary. */
export function bytesArray(values: readonly string[]): Buffer {
  let size = headBytes;
  for (const value of values) size += lengthBytes + Buffer.byteLength(value, 'base64url');
  const { bytes, view } = withHead(size, { oid: oids.bytea, count: values.length, hasNulls: false });
  let at = headBytes;
  for (const value of values) {
    const length = bytes.write(value, at + lengthBytes, 'base64url');
    view.setInt32(at, length);
    at += lengthBytes + length;
  }
  return bytes.subarray(0, at);
}

/** How values of one length are written. */
export interface FixedForm<Value> {
  /** The oid of the element type. */
  readonly oid: number;
  /** Bytes of each. */
  readonly size: number;
  /** Writes a value; false: it cannot write this one. */
  readonly write: (view: DataView, at: number, value: Value) => boolean;
}

/** A list of values of one length as PostgreSQL's protocol carries it in binary; null: one of them cannot be written. */
export function fixedArray<Value>(
  values: readonly (Value | null)[],
  { oid, size, write }: FixedForm<Value>,
): Buffer | null {
  const { bytes, view } = withHead(headBytes + values.length * (lengthBytes + size), {
    oid,
    count: values.length,
    hasNulls: values.includes(null),
  });
  let at = headBytes;
  for (const value of values) {
    view.setInt32(at, value === null ? nullLength : size);
    at += lengthBytes;
    if (value === null) continue;
    if (!write(view, at, value)) return null;
    at += size;
  }
  return bytes.subarray(0, at);
}

interface Head {
  readonly oid: number;
  readonly count: number;
  readonly hasNulls: boolean;
}

/** Bytes that begin with it, and a view of them, whose numbers are written in a fifth of the time. */
function withHead(size: number, { oid, count, hasNulls }: Head): { readonly bytes: Buffer; readonly view: DataView } {
  const bytes = Buffer.allocUnsafe(size);
  const view = new DataView(bytes.buffer, bytes.byteOffset, size);
  for (const [index, number] of [1, hasNulls ? 1 : 0, oid, count, 1].entries()) view.setInt32(index * 4, number);
  return { bytes, view };
}
