import { invalid, schemaIssue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import type { JsonObject } from '../../json/json-object.ts';

/** `swagger2` is Swagger 2.0; `openapi3` is OpenAPI 3.0 to 3.2, which differ here only in their schemas. */
type Dialect = 'swagger2' | 'openapi3';

/** References are followed one at a time, where they are needed. */
export interface OpenapiDocument {
  readonly root: JsonObject;
  readonly dialect: Dialect;
  /** The value, or the target of its `$ref`; `undefined` when that is missing, outside the document or circular. */
  readonly resolve: (value: unknown) => unknown;
  /** Like `resolve`, but an empty object instead of any other value. */
  readonly objectOf: (value: unknown) => JsonObject;
  /** Throws validation when the document takes more than `stepsMax` steps. */
  readonly spend: (steps: number) => void;
}

/**
 * Properties, parameters and references that are looked at, repeats included. The description of GitHub's API (13 MB,
 * 1,100 operations) takes some 100,000; a million take less than a second.
 */
const stepsMax = 1_000_000;
const hopsMax = 100;

/** Throws validation when the value is not an OpenAPI document of a known version. */
export function openDocument(value: unknown): OpenapiDocument {
  const root = isJsonObject(value) ? value : {};
  const dialect = dialectOf(root);
  let left = stepsMax;
  const spend = (steps: number): void => {
    left -= steps;
    if (left < 0) throw refuse('', 'the document takes too much work: split it, or leave out what is not needed');
  };
  const resolve = (given: unknown): unknown => {
    let found = given;
    for (let hops = 0; hops < hopsMax; hops += 1) {
      const ref = isJsonObject(found) ? own(found, '$ref') : undefined;
      if (typeof ref !== 'string') return found;
      spend(1);
      found = pointedAt(root, ref);
    }
    return undefined;
  };
  const objectOf = (given: unknown): JsonObject => {
    const found = resolve(given);
    return isJsonObject(found) ? found : {};
  };
  return { root, dialect, resolve, objectOf, spend };
}

export const own = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** `null` when the property is empty or not a text. */
export function textOf(object: JsonObject, name: string): string | null {
  const value = own(object, name);
  return typeof value === 'string' && value !== '' ? value : null;
}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function dialectOf(root: JsonObject): Dialect {
  const [swagger, openapi] = [textOf(root, 'swagger'), textOf(root, 'openapi')];
  if (swagger === '2.0' || own(root, 'swagger') === 2) return 'swagger2';
  if (openapi !== null && /^3\.[012](\.|$)/.test(openapi)) return 'openapi3';
  throw refuse('openapi', 'not an OpenAPI document: expected `"openapi": "3.0.x"` or 3.1, or `"swagger": "2.0"`');
}

/** Only a JSON Pointer into this document: nothing is read from files or addresses. */
function pointedAt(root: JsonObject, ref: string): unknown {
  if (!ref.startsWith('#/') || ref.length > 2000) return undefined;
  let value: unknown = root;
  for (const step of ref.slice(2).split('/')) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as JsonObject)[name];
  }
  return value;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const refuse = (path: string, message: string) =>
  invalid('The document cannot be imported.', [schemaIssue(path, message)]);
