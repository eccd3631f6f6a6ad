import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const files = globSync('{src,db,activities,workflows}/**/*.ts', { cwd: root }).filter(
  (file) => !/(?:test|fixture)\.ts$/.test(file),
);
/** A string literal as the message of an error; concatenations and names do not match. */
const messages =
  /(?:new AppError\(\s*'\w+',|\bconflict\(|\binvalid\()\s*(`(?:[^`\\]|\\.)*`|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*[,)]/g;
/** What ends with a sentence of its own, by the name of what is filled in. */
const sentence = /\$\{[^}]*(?:advice|message)[^}]*\}$/;

const found = files.flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(messages)].map(([, literal = '']) => literal.slice(1, -1)),
);
/** A message that begins with a small letter becomes the text of an issue, which is no sentence. */
const sentences = found.filter((message) => !/^[a-z]/.test(message) && !sentence.test(message));

it('every message of an AppError that is written out ends with a full stop', () => {
  expect(sentences.length).toBeGreaterThan(100);
  expect(sentences.filter((message) => !message.endsWith('.'))).toEqual([]);
});
