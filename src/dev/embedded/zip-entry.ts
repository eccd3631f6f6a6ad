import { buffer } from 'node:stream/consumers';
import { fromBufferPromise } from 'yauzl';

/**
 * The entry is stored or deflated, not encrypted; its CRC is not checked.
 * @throws Error when the archive is damaged or has no such file.
 */
export async function readZipEntry(zip: Uint8Array, name: string): Promise<Uint8Array> {
  const archive = await fromBufferPromise(Buffer.from(zip.buffer, zip.byteOffset, zip.byteLength));
  for await (const entry of archive.eachEntry()) {
    if (entry.fileName === name) return buffer(await archive.openReadStreamPromise(entry));
  }
  throw new Error(`the archive has no ${name}`);
}
