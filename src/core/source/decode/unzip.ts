import { promisify } from 'node:util';
import { crc32, type InputType, inflateRaw, type ZlibOptions } from 'node:zlib';
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
import { AppError } from '../../errors.ts';
import { inflateBounded } from './inflate.ts';

/** Recognizes a first entry, or the directory of an empty archive. */
export const isZip = (bytes: Uint8Array): boolean =>
  bytes.length >= endSize && [entrySignature, endSignature].includes(bufferOf(bytes).readUInt32LE(0));

/**
 * Ignores folders and the file's name. Throws `source_rejected` for none or several files, encryption, damage, and more
 * than `bytesMax` bytes.
 */
export async function unzip(bytes: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  const { file, packed } = await readArchive(bufferOf(bytes)).catch((error: unknown) => {
    throw refusalOf(error);
  });
  const content = await contentOf(packed, file.compressionMethod, bytesMax);
  if (content.length !== file.uncompressedSize || crc32(content) !== file.crc32) throw damaged();
  return content;
}

/** From APPNOTE.TXT, sections 4.3.7 and 4.3.16. */
const entrySignature = 0x04034b50;
const endSignature = 0x06054b50;
const endSize = 22;
/** Leaves room for folders besides the file. */
const entriesMax = 100;

/**
 * yauzl reads the directory only: its streams know no limit but the size that the archive declares, and it checks no
 * CRC.
 */
async function readArchive(archive: Buffer): Promise<{ readonly file: Entry; readonly packed: Uint8Array }> {
  // Names stay bytes, as a path that leads out of its folder means nothing here.
  const zip = await fromBufferPromise(archive, { decodeStrings: false, validateEntrySizes: false });
  const file = await onlyFile(zip);
  if (file.isEncrypted()) throw encrypted();
  const { fileDataStart } = await zip.readLocalFileHeaderPromise(file, { minimal: true });
  return { file, packed: archive.subarray(fileDataStart, fileDataStart + file.compressedSize) };
}

async function onlyFile(zip: ZipFile): Promise<Entry> {
  if (zip.entryCount > entriesMax) throw severalFiles();
  const files: Entry[] = [];
  for await (const entry of zip.eachEntry()) if (!isFolder(entry)) files.push(entry);
  const [file, ...others] = files;
  if (file === undefined) throw refused('holds no file', 'Check what the API puts into it.');
  if (others.length > 0) throw severalFiles();
  return file;
}

const isFolder = ({ fileNameRaw }: Entry): boolean => fileNameRaw.at(-1) === slash;

const slash = 0x2f;

async function contentOf(packed: Uint8Array, method: number, bytesMax: number): Promise<Uint8Array> {
  if (method === 0) return packed;
  if (method === 8) return inflateBounded(inflateRawAsync, packed, { bytesMax, form: 'zip archive' });
  throw refused('is compressed by a method other than deflate', 'Ask the API for plain zip or gzip.');
}

const inflateRawAsync = promisify<InputType, ZlibOptions, Uint8Array>(inflateRaw);

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const refused = (what: string, advice: string, cause?: unknown): AppError =>
  new AppError('source_rejected', `The response is a zip archive that ${what}. ${advice}`, { cause });

/**
 * yauzl has no error codes: it refuses strong encryption (APPNOTE 7) itself, and everything else that it refuses is
 * damage.
 */
function refusalOf(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const isEncrypted = error instanceof Error && error.message.startsWith('strong encryption');
  return isEncrypted ? encrypted() : damaged(error);
}

const encrypted = (): AppError => refused('is encrypted', 'Only archives without a password can be read.');

const damaged = (cause?: unknown): AppError =>
  refused('is damaged or cut off', 'Check that the API sends the whole file.', cause);

const severalFiles = (): AppError =>
  refused('holds more than one file', 'Ask the API for an archive of a single file.');
