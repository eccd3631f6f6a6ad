import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'SECURITY.md'), 'utf8');

/** A row of the table of threats. */
const rows = text
  .split('\n')
  .filter((line) => /^\| \d+ \|/.test(line))
  .map((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    return { number: Number(cells[1]), shownBy: cells.at(-2) ?? '' };
  });

/** Tests that a text names: `file`: “title”. */
const testsIn = (named: string) =>
  [...named.matchAll(/`([^`]+)`: “([^”]+)”/g)].map(([, file = '', title = '']) => ({ file, title }));

/** The titles of a test file as they are written there, `%s` and `$name` in them not filled in. */
const titlesOf = (file: string): readonly string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/\(\s*(['"`])((?:\\.|(?!\1).)*)\1,\s*(?:async\b|\()/g)].map(
    ([, , title = '']) => title,
  );

describe('the threats in SECURITY.md', () => {
  it('are counted without gaps, and each names a test', () => {
    expect(rows.map(({ number }) => number)).toEqual(rows.map((_, index) => index + 1));
    expect(rows.length).toBeGreaterThanOrEqual(25);
    expect(rows.filter(({ shownBy }) => testsIn(shownBy).length === 0)).toEqual([]);
  });

  it.each(testsIn(text))('are shown by a test that exists: $file: $title', ({ file, title }) => {
    expect(existsSync(join(root, file))).toBe(true);
    expect(titlesOf(file)).toContain(title);
  });
});
