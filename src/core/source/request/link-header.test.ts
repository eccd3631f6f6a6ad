import { describe, expect, it } from 'vitest';
import { leastGrowth } from '../../work/effort-fixture.ts';
import { linkOf } from './link-header.ts';

describe('the next page of a Link header', () => {
  it.each([
    ['<https://a.example/?page=2>; rel="next"', 'https://a.example/?page=2'],
    ['<https://a.example/?page=1>; rel="prev", <https://a.example/?a=1,2;3>; rel="next"', 'https://a.example/?a=1,2;3'],
    ['</2>;rel=next', '/2'],
    ['</2> ; REL = "Next"', '/2'],
    ['</2>; title="a, b; rel=\\"no\\""; rel="last next"', '/2'],
    ['</1>; rel="first"; rel="next", </2>; crossorigin; rel=next; a=', '/2'],
    [', </2>; rel=next,', '/2'],
    ['</1>; rel=next, </2>; rel=next', '/1'],
    ['</2>; rel="nextish"', null],
    ['</2>', null],
    ['', null],
    [undefined, null],
  ])('of %s is %s', (header, link) => {
    expect(linkOf(header, 'next')).toBe(link);
  });

  it.each(['next', '<', '</2>; rel="next', '</2> rel=next', '</2>; a="b"c'])(
    'is unknown when it is malformed: %s',
    (header) => {
      expect(() => linkOf(header, 'next')).toThrow('malformed');
    },
  );

  const shapes: Readonly<Record<string, (size: number) => string>> = {
    'spaces in a value': (size) => `<a>; rel="${' '.repeat(size)}x"`,
    'spaces in an address': (size) => `<${' '.repeat(size)}x>; rel=next`,
    'spaces before a name': (size) => `<a>; ${' '.repeat(size)}x=y`,
    'spaces without an end': (size) => `<a>; x=${' '.repeat(size)}"`,
    'relations and parameters': (size) => `<a>; rel="${'a '.repeat(size / 4)}"${';a=b'.repeat(size / 8)}`,
    links: (size) => '<a>; rel=x, '.repeat(size / 12),
    'a value without an end': (size) => `<a>; rel="${'\\"'.repeat(size / 2)}`,
  };
  it.each(Object.entries(shapes))('takes time that grows with the header alone: %s', (_, shape) => {
    const read = (text: string) => () => {
      try {
        return linkOf(text, 'next');
      } catch {
        return null; // It may be malformed.
      }
    };
    // Sixteen times the text takes 256 times as long where the time grows with the square.
    expect(leastGrowth(read(shape(15_000)), read(shape(240_000)), 80)).toBeLessThan(80);
  });
});
