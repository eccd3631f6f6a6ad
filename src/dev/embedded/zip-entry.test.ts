import { describe, expect, it } from 'vitest';
import { zipOf } from '../../core/source/decode/zip-fixture.ts';
import { readZipEntry } from './zip-entry.ts';

const archive = zipOf([
  { name: 'README', content: 'not this' },
  { name: 'data/temporal', content: 'packed, packed, packed' },
  { name: 'data/plain', content: 'stored', method: 0 },
]);

describe('readZipEntry', () => {
  it.each([
    ['data/temporal', 'packed, packed, packed'],
    ['data/plain', 'stored'],
  ])('gives the content of %s, from the middle of a larger buffer too', async (name, content) => {
    const larger = Buffer.concat([Buffer.alloc(7), archive]);
    expect(Buffer.from(await readZipEntry(larger.subarray(7), name)).toString()).toBe(content);
  });

  it('names the file that an archive does not have', async () => {
    await expect(readZipEntry(archive, 'temporal')).rejects.toThrow('the archive has no temporal');
  });

  it('refuses what is no archive', async () => {
    await expect(readZipEntry(Buffer.from('<html>not found</html>'), 'temporal')).rejects.toThrow(/not a zip file/i);
  });
});
