import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** What is no status: comments, texts that say more than a number, and lengths. */
const others =
  /\/\*[\s\S]*?\*\/|\/\/.*|'(?!\d{3}')(?:[^'\\\n]|\\.)*'|"(?!\d{3}")(?:[^"\\\n]|\\.)*"|\bmaxLength\(\d+\)|\bslice\(0, \d+\)|\w+Max = \d+/g;

/** The statuses of errors that a source text has as numbers, or as texts of their own. */
const statusesIn = (source: string): readonly string[] =>
  source.replaceAll(others, ' ').match(/(?<![\w.$#-])[45]\d\d(?![\w.%])/g) ?? [];

/** Statuses outside of src/api/errors.ts. */
const elsewhere = {
  // The probe, and its description.
  'src/api/app.ts': ['503'],
  'src/api/openapi/openapi.ts': ['503'],
  // What receivers of events respond.
  'src/api/openapi/events.ts': ['410'],
  // What customers' APIs have responded.
  'src/console/pages/run-calls.ts': ['429', '400'],
};

it('no file of the API or of the console but src/api/errors.ts decides the status of an error', () => {
  const files = globSync('src/{api,console}/**/*.ts', { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !file.endsWith('.test.ts') && file !== 'src/api/errors.ts');
  const found = files.map((file) => [file, statusesIn(readFileSync(join(root, file), 'utf8'))] as const);
  expect(files.length).toBeGreaterThan(100);
  expect(Object.fromEntries(found.filter(([, statuses]) => statuses.length > 0))).toEqual(elsewhere);
});

it.each([
  ["c.json({ error: 'It is gone.' }, 404)", ['404']],
  ["new Response(null, { status: 503, headers: { 'retry-after': '10' } })", ['503']],
  ["app.use('/api/*', (c) => c.body(null, 429)); // or 500", ['429']],
  ["{ '422': refusal, 500: failure }", ['422', '500']],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a source text
  ['`${await signInPage()}${c.status(401)}`', ['401']],
  ["/** A 404, says https://example.com. */ const description = 'Responds with 409.';", []],
  ['v.maxLength(500); text.slice(0, 500); const editsMax = 500; const all = 4000 + 1.404;', []],
])('a status is found in code, and in code alone: %s', (source, statuses) => {
  expect(statusesIn(source)).toEqual(statuses);
});
