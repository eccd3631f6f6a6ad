/** Bytes of a record as JSON, unless the deployment configures it: a thousand such records are a page of 1 GB. */
export const recordBytesMaxDefault = 1024 * 1024;

/** Bytes of a character in JSON, at most: an escape such as `\u001f`. */
const charBytesMax = 6;

/**
 * The bytes of a record's JSON if there are more than `bytesMax`; null if there are not, or if it is nested too deep to
 * count. Only a record of many characters is written as JSON for this.
 */
export function excessBytes(record: unknown, bytesMax: number): number | null {
  if (!hasMoreChars(record, bytesMax / charBytesMax)) return null;
  try {
    const bytes = Buffer.byteLength(JSON.stringify(record) ?? '');
    return bytes > bytesMax ? bytes : null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Whether its texts and names, plus one for each other value, exceed so many characters. */
function hasMoreChars(record: unknown, charsMax: number): boolean {
  const pending: unknown[] = [record];
  let chars = 0;
  while (pending.length > 0 && chars <= charsMax) {
    const value = pending.pop();
    chars += typeof value === 'string' ? value.length : 1;
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) for (const name of Object.keys(value)) chars += name.length;
    for (const child of Object.values(value)) pending.push(child);
  }
  return chars > charsMax;
}

/** Characters that are stored of a record that is too large. */
const headChars = 4096;

/** The stored part of a record that is too large. */
export const cutRecord = (json: string, bytes: number) => ({ truncated: true, bytes, head: json.slice(0, headChars) });
