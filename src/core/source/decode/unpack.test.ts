import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { unpack } from './unpack.ts';
import { zip64Of, zipOf } from './zip-fixture.ts';

const mib = 1_048_576;
const text = async (bytes: Uint8Array, bytesMax = mib) => Buffer.from(await unpack(bytes, bytesMax)).toString();
const refused = (message: RegExp) => ({ code: 'source_rejected', message: expect.stringMatching(message) });

test.each(['', 'P', 'PK', '{"a":1}', 'PK,name\n1,Ann and some more text', '\u001f'])(
  'leaves %j as it is',
  async (body) => {
    expect(await text(Buffer.from(body))).toBe(body);
  },
);

describe('a gzip file', () => {
  test('is unpacked, one layer of it', async () => {
    expect(await text(gzipSync('a,b'))).toBe('a,b');
    const inner = gzipSync('a,b');
    expect(Buffer.from(await unpack(gzipSync(inner), mib))).toEqual(inner);
  });

  test('of more than the allowed bytes is refused before it is in memory', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * mib));
    expect(bomb.length).toBeLessThan(mib);
    const before = process.memoryUsage.rss();
    await expect(unpack(bomb, mib)).rejects.toMatchObject(refused(/more than 1048576 bytes/));
    expect(process.memoryUsage.rss() - before).toBeLessThan(50 * mib);
  });

  test('that is cut off is refused', async () => {
    const whole = gzipSync('some text that takes a few bytes');
    await expect(unpack(whole.subarray(0, -6), mib)).rejects.toMatchObject(refused(/damaged or cut off/));
  });
});

describe('a zip archive', () => {
  test.each([0, 8])('of one file packed by method %i gives its content', async (method) => {
    expect(await text(zipOf([{ name: 'export.csv', content: 'a,b\n1,2', method }]))).toBe('a,b\n1,2');
  });

  test('may hold folders, and names that lead out of them mean nothing', async () => {
    const folder = { name: 'out/', content: '', method: 0 };
    expect(await text(zipOf([folder, { name: '../../etc/passwd', content: 'a' }]))).toBe('a');
  });

  test('in ZIP64 form gives its content', async () => {
    expect(await text(zip64Of([{ name: 'a', content: 'a,b' }]))).toBe('a,b');
  });

  test('may stand in the middle of a larger buffer', async () => {
    const archive = zipOf([{ name: 'a', content: 'a,b' }]);
    const larger = Buffer.concat([Buffer.alloc(7), archive]);
    expect(await text(larger.subarray(7))).toBe('a,b');
  });

  test.each<[string, Buffer, RegExp]>([
    [
      'of several files',
      zipOf([
        { name: 'a', content: 'x' },
        { name: 'b', content: 'y' },
      ]),
      /more than one file/,
    ],
    [
      'of very many files',
      zipOf(Array.from({ length: 200 }, () => ({ name: 'a/', content: '' }))),
      /more than one file/,
    ],
    ['of no file', zipOf([]), /holds no file/],
    ['with a password', zipOf([{ name: 'a', content: 'x', flags: 1 }]), /encrypted/],
    ['with strong encryption', zipOf([{ name: 'a', content: 'x', flags: 0x41 }]), /encrypted/],
    ['of another method', zipOf([{ name: 'a', content: 'x', method: 12 }]), /other than deflate/],
    ['with a wrong checksum', zipOf([{ name: 'a', content: 'x', crc: 1 }]), /damaged/],
    [
      'that is cut off',
      zipOf([{ name: 'a', content: 'x'.repeat(99), method: 0 }]).subarray(0, 90),
      /damaged or cut off/,
    ],
  ])('%s is refused', async (_, archive, message) => {
    await expect(unpack(archive, mib)).rejects.toMatchObject(refused(message));
  });

  test('of more than the allowed bytes is refused', async () => {
    const bomb = zipOf([{ name: 'a', content: Buffer.alloc(20 * mib) }]);
    await expect(unpack(bomb, mib)).rejects.toMatchObject(refused(/zip archive of more than 1048576 bytes/));
  });

  test('with any byte changed gives its content or is refused, and nothing else', async () => {
    const archive = zipOf([{ name: 'a', content: 'some text, some text' }]);
    for (let position = 4; position < archive.length; position += 1) {
      const changed = Buffer.from(archive);
      changed.writeUInt8(changed.readUInt8(position) ^ 0xff, position);
      const outcome = await text(changed).catch((error: unknown) => error);
      if (typeof outcome === 'string') expect(outcome).toBe('some text, some text');
      else expect(outcome).toMatchObject({ code: 'source_rejected' });
    }
  });
});
