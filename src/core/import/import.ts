/** Makes a ConnectorSpec from a document of another format, given as an object or as its text. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError, type Issue, invalid, schemaIssue } from '../errors.ts';
import { isJsonObject } from '../json/is-json-object.ts';
import { findJsonIssue } from '../json/json-issue.ts';
import { jsonLimits } from '../json/json-limits.ts';
import { readYaml, YamlSyntaxError } from '../json/yaml.ts';
import { importAirbyte } from './airbyte/airbyte.ts';
import type { ImportReport, ImportResult } from './import-result.ts';
import { importOpenapi } from './openapi/openapi.ts';

export const importFormats = ['airbyte', 'openapi'] as const;
type ImportFormat = (typeof importFormats)[number];

export interface ImportRequest {
  readonly format: ImportFormat;
  readonly document: unknown;
  /** Key of the spec; made from the document by default. */
  readonly key?: string | null | undefined;
  /** Multiplies the size limits of a request's document, for an author's file; 1 by default. */
  readonly times?: number;
}

const importers: Readonly<
  Record<ImportFormat, (document: unknown, options: { readonly key?: string }) => ImportResult>
> = {
  airbyte: importAirbyte,
  openapi: importOpenapi,
};

/**
 * Reading the text and converting it take up to a second each; other work of the process runs in between.
 *
 * Throws validation when the document cannot be read, is not of the format, or nothing in it can be converted. Issues
 * have the paths of the document.
 */
export async function importDocument({ format, document, key, times = 1 }: ImportRequest): Promise<ImportResult> {
  const value = typeof document === 'string' ? readText(document, times) : document;
  const nodesMax = jsonLimits.nodesMax * times;
  const issue = findJsonIssue(value, { nodesMax });
  if (issue !== null) {
    const advice = times > 1 ? 'split it' : '`css import` reads larger ones from a file';
    const large = `the document has more than ${nodesMax} values: ${advice}`;
    throw unreadable(issue.path.join('.').slice(0, pathLengthMax), { ...problems, large }[issue.kind]);
  }
  if (!isJsonObject(value)) throw unreadable('', 'expected an object');
  await nextTurn();
  const result = importers[format](value, key === undefined || key === null ? {} : { key });
  if (result.report.every(({ status }) => status === 'refused')) throw nothingConverted(result.report);
  return result;
}

const issuesMax = 100;

function nothingConverted(report: readonly ImportReport[]): AppError {
  if (report.length === 0) return unreadable('', 'it has nothing that can be converted');
  const issues = report.slice(0, issuesMax).map(({ name, path, reason }) => ({
    code: 'schema' as const,
    path: path ?? '',
    message: `${name}: ${reason}`,
  }));
  return invalid('Nothing of the document can be converted.', issues);
}

const pathLengthMax = 200;

const problems = {
  reserved: 'has a name that is not allowed',
  deep: `is nested deeper than ${jsonLimits.depthMax} levels`,
  long: 'has a text that is too long',
  nul: 'holds the character U+0000',
  surrogate: 'holds half of a surrogate pair',
  number: 'is a number beyond the range of a double',
  type: 'is not JSON',
} as const;

/** JSON is also YAML, but is read faster and may have more values. */
function readText(text: string, times: number): unknown {
  return text.trimStart().startsWith('{') ? (readJson(text) ?? readYamlText(text, times)) : readYamlText(text, times);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readYamlText(text: string, times: number): unknown {
  try {
    return readYaml(text, { times }).value;
  } catch (error) {
    if (error instanceof YamlSyntaxError) throw unreadable('', `the text is neither JSON nor YAML: ${error.message}`);
    if (error instanceof AppError)
      throw new AppError('validation', message, { issues: (error.issues ?? []).map(inText), cause: error });
    throw error;
  }
}

/** Moves line and column into the message: as fields they would refer to the body instead of the text. */
function inText({ line, column, message: reason, ...issue }: Issue): Issue {
  return { ...issue, message: line === undefined ? reason : `${reason} (line ${line} column ${column} of the text)` };
}

const message = 'The document cannot be imported.';

const unreadable = (path: string, reason: string): AppError => invalid(message, [schemaIssue(path, reason)]);
