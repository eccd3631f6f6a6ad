/** Default maximum bytes of a record as JSON: a thousand such records are a page of 1 GB. */
export const recordBytesMaxDefault = 1024 * 1024;

/** Most JSON bytes of a character: an escape such as `\u001f`. */
const charBytesMax = 6;

/**
 * The bytes of a record's JSON if they exceed `bytesMax`; otherwise `null`, also if it is nested too deeply to count.
 * Only a record with many characters is serialized for this.
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

/** Counts texts and names, and one for each other value. */
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

/** Characters stored of an oversized record. */
const headChars = 4096;

/** The stored part of an oversized record. */
export const cutRecord = (json: string, bytes: number) => ({ truncated: true, bytes, head: json.slice(0, headChars) });
