import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

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

describe('npm run trust', () => {
  const files = globSync('{src,test,scripts}/**/*.test.ts', { cwd: root });
  const tests = manifest.scripts.trust.split(' ').filter((word) => /^(?:src|test|scripts)\/(?!run\.mjs)/.test(word));

  it('names tests that exist', () => {
    expect(tests.filter((name) => !files.some((file) => file.startsWith(name)))).toEqual([]);
  });

  it('runs each test that has a figure for it', () => {
    const shown = files.filter((file) => /\b(?:caseFigure|figure)\(/.test(readFileSync(join(root, file), 'utf8')));
    expect(shown.length).toBeGreaterThan(20);
    expect(shown.filter((file) => !tests.some((name) => file.startsWith(name)))).toEqual([]);
  });
});

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
