import { AppError, type Issue } from '../../core/errors.ts';
import { checkDocument } from '../../core/json/body-document.ts';
import { readYaml, type YamlDocument, YamlSyntaxError } from '../../core/json/yaml.ts';
import { HttpRejection } from '../errors.ts';
import { decode, readBytes } from './body-gate.ts';

const yamlTypes = new Set(['application/yaml', 'application/x-yaml', 'text/yaml']);

export function saysYaml(headers: Headers): boolean {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  return yamlTypes.has(type.trim().toLowerCase());
}

export type Places = Pick<YamlDocument, 'placeOf'>;

/**
 * Has the limits of JSON. Throws {@link HttpRejection} 413 when it is too long, and 400 without a code when it is not
 * UTF-8 YAML.
 * Throws a validation error with line and column for values that no later stage should have to expect.
 */
export async function readYamlBody(request: Request): Promise<YamlDocument> {
  return readYamlText(decode(await readBytes(request)));
}

export function readYamlText(text: string): YamlDocument {
  if (text.trim() === '') throw new HttpRejection('unreadable', 'The body is empty: send YAML or JSON.');
  const document = parse(text);
  try {
    checkDocument(document.value);
    return document;
  } catch (error) {
    throw locate(error, document);
  }
}

function parse(text: string): YamlDocument {
  try {
    return readYaml(text);
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    throw new HttpRejection('unreadable', `The body is not YAML: ${error.message}.`, { cause: error });
  }
}

/** Adds line and column to the issues that `work` throws or returns, unless `places` is `null`. */
export async function withPlaces<Value>(places: Places | null, work: () => Value | Promise<Value>): Promise<Value> {
  if (places === null) return work();
  try {
    const value = await work();
    return hasIssues(value) ? { ...value, issues: located(value.issues, places) } : value;
  } catch (error) {
    throw locate(error, places);
  }
}

function locate(error: unknown, places: Places): unknown {
  if (!(error instanceof AppError) || error.issues === undefined) return error;
  const { code, message, issues, cause, isFinal } = error;
  return new AppError(code, message, { issues: located(issues, places), cause, isFinal });
}

const located = (issues: readonly Issue[], { placeOf }: Places): readonly Issue[] =>
  issues.map((issue) => ({ ...issue, ...placeOf(issue.path) }));

/** Issues in the response of an endpoint are always those of its body. */
const hasIssues = (value: unknown): value is { readonly issues: readonly Issue[] } =>
  typeof value === 'object' && value !== null && 'issues' in value && Array.isArray(value.issues);
