/** Bytes of a row of SQL Server. */
export const rowBytesMax = 8060;

/** What is always there: header, bits of null, and the count of columns that vary. */
const fixedBytes = 14;
/** In place of a value that was moved out of its row. */
const pointerBytes = 24;

/** Bytes that values take in their row when all that can is moved out of it, by their types as SQL. */
export const bytesInRow = (values: readonly (readonly [type: string, value: unknown])[]): number =>
  values.reduce((sum, [type, value]) => sum + bytesOf(type, value), fixedBytes + Math.ceil(values.length / 8));

function bytesOf(type: string, value: unknown): number {
  if (type === 'int') return 4;
  if (type.startsWith('float')) return 8;
  if (value === null || value === undefined) return 2;
  return 2 + (typeof value === 'string' ? Math.min(pointerBytes, 2 * value.length) : pointerBytes);
}
