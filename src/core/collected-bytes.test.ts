import { expect, it } from 'vitest';
import { collectBytes } from './collected-bytes.ts';

const collected = (pieces: readonly Uint8Array[]) => {
  const bytes = collectBytes();
  for (const piece of pieces) bytes.add(piece);
  return bytes.whole().toString();
};

it.each([0, 1, 2, 999, 1000, 1001, 2500])('%i pieces become one, in their order', (count) => {
  const texts = Array.from({ length: count }, (_, nth) => `${nth},`);
  expect(collected(texts.map((text) => Buffer.from(text)))).toBe(texts.join(''));
});

it('a piece alone is not copied', () => {
  const bytes = collectBytes();
  const piece = Buffer.from('all of it');
  bytes.add(piece);
  expect(bytes.whole()).toEqual(piece);
  expect(bytes.whole().buffer).toBe(piece.buffer);
});

it('many single bytes take little more than their number', () => {
  const before = process.memoryUsage();
  const bytes = collectBytes();
  for (let nth = 0; nth < 1_000_000; nth += 1) bytes.add(Buffer.alloc(1));
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  expect(heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(60_000_000);
  expect(bytes.whole()).toHaveLength(1_000_000);
});
