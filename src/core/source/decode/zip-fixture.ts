/** For tests: zip archives, written by the letter of the format (APPNOTE 4.3). */
import { crc32, deflateRawSync } from 'node:zlib';

/** Omitted values are correct. */
export interface ZipFile {
  readonly name: string;
  readonly content: Uint8Array | string;
  /** 0 is stored, 8 (default) is deflate. */
  readonly method?: number;
  readonly flags?: number;
  readonly crc?: number;
}

export function zipOf(files: readonly ZipFile[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let start = 0;
  for (const { name, content, method = 8, flags = 0, crc = crc32(content) } of files) {
    const bytes = Buffer.from(content);
    const packed = method === 8 ? deflateRawSync(bytes) : bytes;
    const fields = fieldsOf({ method, flags, crc, packed: packed.length, size: bytes.length, name: name.length });
    const header = Buffer.concat([numbers([0x04034b50, 4]), fields, Buffer.from(name), packed]);
    const rest = numbers([0, 2], [0, 2], [0, 2], [0, 4], [start, 4]);
    directory.push(Buffer.concat([numbers([0x02014b50, 4], [20, 2]), fields, rest, Buffer.from(name)]));
    parts.push(header);
    start += header.length;
  }
  const entries = Buffer.concat(directory);
  const { length } = files;
  const end = numbers([0x06054b50, 4], [0, 4], [length, 2], [length, 2], [entries.length, 4], [start, 4], [3, 2]);
  return Buffer.concat([...parts, entries, end, Buffer.from('end')]);
}

/** Its end only points to a larger one (APPNOTE 4.3.14 and 4.3.15). */
export function zip64Of(files: readonly ZipFile[]): Buffer {
  const plain = zipOf(files);
  const end = plain.length - endSize;
  const [count, size, start] = [
    plain.readUInt16LE(end + 10),
    plain.readUInt32LE(end + 12),
    plain.readUInt32LE(end + 16),
  ];
  const large = (value: number) => [[value, 4] as const, [0, 4] as const];
  const record = numbers(
    [0x06064b50, 4],
    ...large(44),
    [45, 2],
    [45, 2],
    [0, 4],
    [0, 4],
    ...[count, count, size, start].flatMap(large),
  );
  const locator = numbers([0x07064b50, 4], [0, 4], ...large(end), [1, 4]);
  plain.fill(0xff, end + 8, end + 20);
  return Buffer.concat([plain.subarray(0, end), record, locator, plain.subarray(end)]);
}

const endSize = 25;

function fieldsOf(entry: Readonly<Record<'method' | 'flags' | 'crc' | 'packed' | 'size' | 'name', number>>): Buffer {
  const { method, flags, crc, packed, size, name } = entry;
  return numbers([20, 2], [flags, 2], [method, 2], [0, 4], [crc, 4], [packed, 4], [size, 4], [name, 2], [0, 2]);
}

function numbers(...values: readonly (readonly [value: number, size: number])[]): Buffer {
  return Buffer.concat(
    values.map(([value, size]) => {
      const bytes = Buffer.alloc(size);
      bytes.writeUIntLE(value, 0, size);
      return bytes;
    }),
  );
}
