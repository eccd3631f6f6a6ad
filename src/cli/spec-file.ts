import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { codeOf } from '../core/error-code.ts';
import { AppError, type Issue } from '../core/errors.ts';
import { bodyBytesMax, checkDocument } from '../core/json/body-document.ts';
import { readYaml, type YamlDocument, YamlSyntaxError } from '../core/json/yaml.ts';
import { checkSpec } from '../core/spec/check/check.ts';
import type { ConnectorSpec } from '../core/spec/schema/spec-schema.ts';
import { CommandError, exitCodes, usageError } from './command-error.ts';
import type { Tools } from './tools.ts';

/** Not validated yet. */
export interface SpecFile {
  readonly path: string;
  /** As typed, for messages. */
  readonly name: string;
  readonly text: string;
  readonly format: 'yaml' | 'json';
  readonly document: unknown;
  /** Adds line and column, where the format has them. */
  readonly located: (issues: readonly Issue[]) => readonly Issue[];
}

export type ReadSpecFile =
  | { readonly ok: true; readonly file: SpecFile }
  | { readonly ok: false; readonly name: string; readonly issues: readonly Issue[] };

export interface ValidSpecFile extends SpecFile {
  /** With every default filled in. */
  readonly spec: ConnectorSpec;
  readonly specJson: Readonly<Record<string, unknown>>;
}

/** Has the limits of the API; `.json` is JSON, any other name YAML. Throws usage errors. */
export async function readSpecFile({ folder }: Pick<Tools, 'folder'>, name: string): Promise<ReadSpecFile> {
  const path = resolve(folder, name);
  const refused = (message: string, place = {}): ReadSpecFile => ({
    ok: false,
    name,
    issues: [{ code: 'schema', path: '', message, ...place }],
  });
  const text = await readText(path, name);
  if (text === null) return refused(`the file is longer than ${bodyBytesMax} bytes, the limit of the API`);
  if (text.trim() === '') return refused('the file is empty');
  const format = /\.json$/i.test(name) ? 'json' : 'yaml';
  try {
    const read = format === 'json' ? { value: parseJson(text), placeOf: null } : readYaml(text);
    const located = locating(read.placeOf);
    checkWithin(read.value, located);
    return { ok: true, file: { path, name, text, format, document: read.value, located } };
  } catch (error) {
    if (error instanceof AppError && error.issues) return { ok: false, name, issues: error.issues };
    if (error instanceof YamlSyntaxError)
      return refused(`the file is not YAML: ${error.message}`, placeIn(error.message));
    if (error instanceof SyntaxError) return refused(`the file is not JSON${placeOfJson(error)}`);
    throw error;
  }
}

/** Throws usage errors, and the issues of the file. */
export async function readValidSpec(tools: Pick<Tools, 'folder'>, name: string): Promise<ValidSpecFile> {
  const read = await readSpecFile(tools, name);
  if (!read.ok) throw invalidFile(name, read.issues);
  const checked = checkSpec(read.file.document);
  if (!checked.valid) throw invalidFile(name, read.file.located(checked.issues));
  return { ...read.file, spec: checked.spec, specJson: checked.document };
}

const invalidFile = (name: string, issues: readonly Issue[]): CommandError =>
  new CommandError(exitCodes.wrong, 'validation', `${name} is not a valid spec. Correct it, then try again.`, {
    issues,
  });

async function readText(path: string, name: string): Promise<string | null> {
  try {
    const { size } = await stat(path);
    return size > bodyBytesMax ? null : new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
  } catch (error) {
    if (error instanceof TypeError) throw usageError(`${name} is not UTF-8 text.`, error);
    const code = codeOf(error);
    throw usageError(`${name} cannot be read: ${reasons[code] ?? code}.`, error);
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'access is denied',
  EISDIR: 'it is a folder',
};

function checkWithin(document: unknown, located: SpecFile['located']): void {
  try {
    checkDocument(document);
  } catch (error) {
    if (error instanceof AppError && error.issues)
      throw new AppError(error.code, error.message, { issues: located(error.issues), cause: error });
    throw error;
  }
}

const parseJson = (text: string): unknown => JSON.parse(text);

const locating =
  (placeOf: YamlDocument['placeOf'] | null): SpecFile['located'] =>
  (issues) =>
    placeOf === null ? issues : issues.map((issue) => ({ ...issue, ...placeOf(issue.path) }));

function placeIn(message: string): { readonly line?: number; readonly column?: number } {
  const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? [];
  return line === undefined ? {} : { line: Number(line), column: Number(column) };
}

/** V8 also quotes the text, which may hold secrets. */
const placeOfJson = (error: SyntaxError): string => / \(line \d+ column \d+\)$/.exec(error.message)?.[0] ?? '';
