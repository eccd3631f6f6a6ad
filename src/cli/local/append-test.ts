import { randomUUID } from 'node:crypto';
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Document, isSeq, parseDocument, stringify } from 'yaml';
import type { SpecFile } from '../spec-file.ts';

/** A YAML file keeps its comments. */
export function withTest(
  { text, format, document }: Pick<SpecFile, 'text' | 'format' | 'document'>,
  test: object,
): string {
  return format === 'json' ? jsonWithTest(text, document, test) : yamlWithTest(text, test);
}

function jsonWithTest(text: string, document: unknown, test: object): string {
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? '  ';
  const { tests = [], ...rest } = Object(document) as { readonly tests?: readonly unknown[] };
  return `${JSON.stringify({ ...rest, tests: [...tests, test] }, null, indent)}\n`;
}

/** Inserts text so that the rest stays as written; if that fails, the whole document is written anew. */
function yamlWithTest(text: string, test: object): string {
  const document = parseDocument(text, { schema: 'core' });
  const inserted = insertedText(text, document, test);
  const tests = document.get('tests');
  const node = document.createNode(test);
  if (isSeq(tests)) {
    if (tests.items.length === 0) tests.flow = false;
    tests.add(node);
  } else document.set('tests', document.createNode([node]));
  const isSame = inserted !== null && isDeepStrictEqual(valueOf(inserted), document.toJS());
  return isSame ? inserted : document.toString({ lineWidth: 0 });
}

function insertedText(text: string, document: Document, test: object): string | null {
  const tests = document.get('tests');
  const item = (indent: number) =>
    stringify([test], { lineWidth: 0, singleQuote: true })
      .trimEnd()
      .split('\n')
      .map((line) => `${' '.repeat(indent)}${line}`)
      .join('\n');
  if (tests === undefined || tests === null)
    return document.has('tests') ? null : `${text.trimEnd()}\ntests:\n${item(2)}\n`;
  if (!isSeq(tests) || tests.flow === true || !tests.range) return null;
  const [start, valueEnd] = tests.range;
  const lastCharacter = text.slice(0, valueEnd).trimEnd().length;
  const lineEnd = text.indexOf('\n', lastCharacter);
  const at = lineEnd === -1 ? text.length : lineEnd;
  const indent = start - (text.lastIndexOf('\n', start) + 1);
  return `${text.slice(0, at)}\n${item(indent)}${text.slice(at)}`;
}

function valueOf(text: string): unknown {
  const document = parseDocument(text, { schema: 'core' });
  return document.errors.length > 0 ? undefined : document.toJS();
}

/** Replaces a file atomically and keeps its mode. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const target = await realpath(path);
  const { mode } = await stat(target);
  const draft = join(dirname(target), `.${randomUUID()}.tmp`);
  try {
    await writeFile(draft, text, { mode: mode & 0o777, flag: 'wx' });
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
