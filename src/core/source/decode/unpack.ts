import { promisify } from 'node:util';
import { gunzip, type InputType, type ZlibOptions } from 'node:zlib';
import { inflateBounded } from './inflate.ts';
import { isZip, unzip } from './unzip.ts';

/**
 * Unpacks one layer of a gzip file or a zip archive of one file, by the first bytes: content types of such files are
 * rarely right. Throws `source_rejected` for a damaged file and for more than `bytesMax` bytes.
 */
export async function unpack(bytes: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  if (isGzip(bytes)) return inflateBounded(gunzipAsync, bytes, { bytesMax, form: 'gzip file' });
  return isZip(bytes) ? unzip(bytes, bytesMax) : bytes;
}

const gunzipAsync = promisify<InputType, ZlibOptions, Uint8Array>(gunzip);

export const isPacked = (bytes: Uint8Array): boolean => isGzip(bytes) || isZip(bytes);

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 8;
