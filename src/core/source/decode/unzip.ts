import { promisify } from 'node:util';
import { crc32, type InputType, inflateRaw, type ZlibOptions } from 'node:zlib';
import { AppError } from '../../errors.ts';
import { inflateBounded } from './inflate.ts';

/** Whether the bytes are a zip archive: a first entry, or the directory of an empty archive. */
export const isZip = (bytes: Uint8Array): boolean =>
  bytes.length >= endSize && [entrySignature, endSignature].includes(viewOf(bytes).getUint32(0, true));

/**
 * The only file of a zip archive; its name is ignored and folders do not count. Throws `source_rejected` for none or
 * several files, for an encrypted or damaged archive and for a file of more than `bytesMax` bytes.
 */
export async function unzip(bytes: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  const view = viewOf(bytes);
  const file = onlyFile(view);
  if (file.encrypted) throw refused('is encrypted', 'Only archives without a password can be read.');
  const packed = packedBytes(bytes, view, file);
  const content = await contentOf(packed, file.method, bytesMax);
  if (content.length !== file.size || crc32(content) !== file.crc) throw damaged();
  return content;
}

/** An entry of the archive's directory. */
interface ZipEntry {
  readonly isFolder: boolean;
  readonly encrypted: boolean;
  /** 0: stored, 8: deflate. */
  readonly method: number;
  readonly crc: number;
  readonly packedSize: number;
  readonly size: number;
  /** Where the entry's own header starts. */
  readonly start: number;
}

const entrySignature = 0x04034b50;
const directorySignature = 0x02014b50;
const endSignature = 0x06054b50;
const entryHeaderSize = 30;
const directoryHeaderSize = 46;
const endSize = 22;
const commentMax = 0xffff;
/** Folders besides the file; an archive with more entries is not one of a single file. */
const entriesMax = 100;

function onlyFile(view: DataView): ZipEntry {
  const end = findEnd(view);
  const count = view.getUint16(end + 10, true);
  const first = view.getUint32(end + 16, true);
  if (count === 0xffff || first === 0xffffffff) throw refused('is in ZIP64 form', 'Ask the API for plain zip or gzip.');
  if (count > entriesMax) throw severalFiles();
  const files = readDirectory(view, first, count).filter(({ isFolder }) => !isFolder);
  const [file, ...others] = files;
  if (file === undefined) throw refused('holds no file', 'Check what the API puts into it.');
  if (others.length > 0) throw severalFiles();
  return file;
}

/** From the back: a comment of any length up to 64 KB may follow the end of the directory. */
function findEnd(view: DataView): number {
  const last = view.byteLength - endSize;
  for (let position = last; position >= Math.max(0, last - commentMax); position -= 1) {
    if (view.getUint32(position, true) === endSignature) return position;
  }
  throw damaged();
}

function readDirectory(view: DataView, first: number, count: number): readonly ZipEntry[] {
  const entries: ZipEntry[] = [];
  for (let position = first; entries.length < count; ) {
    const isHeader = position + directoryHeaderSize <= view.byteLength;
    if (!isHeader || view.getUint32(position, true) !== directorySignature) throw damaged();
    const nameSize = view.getUint16(position + 28, true);
    const next =
      position +
      directoryHeaderSize +
      nameSize +
      view.getUint16(position + 30, true) +
      view.getUint16(position + 32, true);
    if (next > view.byteLength) throw damaged();
    entries.push({
      isFolder: nameSize > 0 && view.getUint8(position + directoryHeaderSize + nameSize - 1) === slash,
      encrypted: view.getUint16(position + 8, true) % 2 === 1,
      method: view.getUint16(position + 10, true),
      crc: view.getUint32(position + 16, true),
      packedSize: view.getUint32(position + 20, true),
      size: view.getUint32(position + 24, true),
      start: view.getUint32(position + 42, true),
    });
    position = next;
  }
  return entries;
}

const slash = 0x2f;

/** The sizes come from the directory: an entry that was written as a stream has none in its own header. */
function packedBytes(bytes: Uint8Array, view: DataView, file: ZipEntry): Uint8Array {
  const isHeader = file.start + entryHeaderSize <= bytes.length;
  if (!isHeader || view.getUint32(file.start, true) !== entrySignature) throw damaged();
  const names = view.getUint16(file.start + 26, true) + view.getUint16(file.start + 28, true);
  const from = file.start + entryHeaderSize + names;
  if (from + file.packedSize > bytes.length) throw damaged();
  return bytes.subarray(from, from + file.packedSize);
}

async function contentOf(packed: Uint8Array, method: number, bytesMax: number): Promise<Uint8Array> {
  if (method === 0) return packed;
  if (method === 8) return inflateBounded(inflateRawAsync, packed, { bytesMax, form: 'zip archive' });
  throw refused('is compressed by a method other than deflate', 'Ask the API for plain zip or gzip.');
}

const inflateRawAsync = promisify<InputType, ZlibOptions, Uint8Array>(inflateRaw);

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const refused = (what: string, advice: string): AppError =>
  new AppError('source_rejected', `The response is a zip archive that ${what}. ${advice}`);

const damaged = (): AppError => refused('is damaged or cut off', 'Check that the API sends the whole file.');

const severalFiles = (): AppError =>
  refused('holds more than one file', 'Ask the API for an archive of a single file.');
