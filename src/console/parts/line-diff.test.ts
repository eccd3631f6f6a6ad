import { describe, expect, it } from 'vitest';
import { seededFractions } from '../../../test/support/random/seeded.ts';
import { diffLines, nearChanges } from './line-diff.ts';

const text = (...lines: readonly string[]) => lines.join('\n');
const signs = { same: ' ', removed: '-', added: '+' } as const;
const shown = (first: string, second: string) =>
  diffLines(first, second).map(({ kind, text: line }) => signs[kind] + line);

describe('the difference of two texts', () => {
  it('has no change when they are equal', () => {
    expect(shown(text('a', 'b'), text('a', 'b'))).toEqual([' a', ' b']);
  });

  it('names the lines that go and come', () => {
    expect(shown(text('a', 'b', 'c'), text('a', 'x', 'c', 'd'))).toEqual([' a', '-b', '+x', ' c', '+d']);
  });

  it('makes the second text from the first, whatever they are', () => {
    const random = seededFractions(11);
    const any = () => text(...Array.from({ length: Math.floor(random() * 12) }, () => 'abcd'.charAt(random() * 4)));
    for (let n = 0; n < 500; n += 1) {
      const [first, second] = [any(), any()];
      const lines = diffLines(first, second);
      expect(text(...lines.filter(({ kind }) => kind !== 'added').map((line) => line.text))).toBe(first);
      expect(text(...lines.filter(({ kind }) => kind !== 'removed').map((line) => line.text))).toBe(second);
    }
  });

  it('is all of both texts when they have nearly nothing in common', () => {
    const first = Array.from({ length: 3000 }, (_, n) => `a${n}`).join('\n');
    const second = Array.from({ length: 3000 }, (_, n) => `b${n}`).join('\n');
    expect(diffLines(first, second)).toHaveLength(6000);
  });

  it('shows only what is near a change', () => {
    const first = Array.from({ length: 40 }, (_, n) => `line ${n}`);
    const lines = nearChanges(diffLines(text(...first), text(...first.with(20, 'changed'))), 2);
    expect(lines.at(0)).toEqual({ kind: 'gap', lines: 18 });
    expect(lines).toHaveLength(8);
    expect(lines.at(-1)).toEqual({ kind: 'gap', lines: 17 });
  });
});
