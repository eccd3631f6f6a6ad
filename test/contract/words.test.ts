/** One word for one idea: CONTRIBUTING.md names the words; those that are never right are looked for here. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const files = globSync('{CHANGELOG,README,ARCHITECTURE,SECURITY}.md', { cwd: root })
  .concat(globSync('{src,db,activities,workflows,test,bench,scripts,docs}/**/*.{ts,md}', { cwd: root }))
  .concat(globSync('db/migrations/*.sql', { cwd: root }))
  .filter((file) => !file.endsWith('.gen.ts') && !file.endsWith('words.test.ts'));

/** What is not said, and what is said instead. */
const words: readonly (readonly [RegExp, string])[] = [
  [/\banswer(?:s|ed|ing)?\b/i, 'response, respond'],
  [/\bjudg(?:e|es|ed|ing|ement)\b/i, 'validate, check, classify'],
  [/\b(?:became|becomes|came|comes) of\b/i, 'outcome, result'],
  [/\b(?:hears? of|told of)\b/i, 'is notified of'],
  [/\bset aside\b/i, 'quarantine'],
  // Not the adjective multi-tenant, not a name such as X-Tenant, and not what Microsoft calls a tenant.
  [/(?<!-|\bparams\.|\bEntra )\btenants?\b/i, 'org'],
];

/** Code that is no test: a fake server in a test may have replies. */
const source = files.filter(
  (file) => /^(?:src|db|activities|workflows)\b/.test(file) && !/(?:\.test|-fixture)\.ts$/.test(file),
);

const linesWith = (word: RegExp, among: readonly string[]): readonly string[] =>
  among.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => (word.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );

it.each(words)('nothing says %s: it is called %s', (word) => {
  expect(files.length).toBeGreaterThan(1000);
  expect(linesWith(word, files)).toEqual([]);
});

it('no source says reply: it is called response', () => {
  expect(source.length).toBeGreaterThan(500);
  expect(linesWith(/repl(?:y|ies|ied)/i, source)).toEqual([]);
});
