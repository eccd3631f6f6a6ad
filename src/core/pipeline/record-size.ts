/** Bytes of a record as JSON, unless the deployment says otherwise: a thousand of them are a page of 1 GB already. */
export const recordBytesMaxDefault = 1024 * 1024;

/** Bytes of a character in JSON, at most: an escape such as `\u001f`. */
const charBytesMax = 6;

/**
 * The bytes of a record's JSON when there are more than `bytesMax`; null when there are not, or when it is nested too deep to
 * tell. Only a record of many characters is written as JSON to know.
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

/** Whether its texts and names, and one for each other value, are more than so many characters. */
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

/** Characters of a record that is too large which are kept of it. */
const headChars = 4096;

/** What is kept of a record that is too large. */
export const cutRecord = (json: string, bytes: number) => ({ truncated: true, bytes, head: json.slice(0, headChars) });
