import { inflateRawSync } from 'node:zlib';

/** Signatures and offsets of APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16. */
const endSignature = 0x06054b50;
const endBytes = 22;

/**
 * The content of one file of a zip archive; stored or deflated, not encrypted, below 4 GB.
 * @throws Error when the archive is damaged or has no such file.
 */
export function readZipEntry(zip: Uint8Array, name: string): Uint8Array {
  const bytes = Buffer.from(zip.buffer, zip.byteOffset, zip.byteLength);
  let end = bytes.length - endBytes;
  while (end >= 0 && bytes.readUInt32LE(end) !== endSignature) end -= 1;
  if (end < 0) throw new Error('not a zip archive');
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    const nameBytes = bytes.readUInt16LE(at + 28);
    if (bytes.toString('utf8', at + 46, at + 46 + nameBytes) === name) return contentOf(bytes, at);
    at += 46 + nameBytes + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  throw new Error(`the archive has no ${name}`);
}

/** `entry` is the offset of the file's record in the central directory. */
function contentOf(bytes: Buffer, entry: number): Uint8Array {
  const local = bytes.readUInt32LE(entry + 42);
  const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
  const packed = bytes.subarray(start, start + bytes.readUInt32LE(entry + 20));
  return bytes.readUInt16LE(entry + 10) === 0 ? packed : inflateRawSync(packed);
}
