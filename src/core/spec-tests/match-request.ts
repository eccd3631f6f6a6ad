import { isDeepStrictEqual } from 'node:util';
import { isJsonObject } from '../json/is-json-object.ts';
import { textOf } from '../json/json-text.ts';
import type { HttpRequest } from '../model/http.ts';
import type { RequestPattern } from '../spec/schema/test-schema.ts';

export interface Difference {
  /** The place in the pattern, such as `query.limit`. */
  readonly at: string;
  readonly wanted: unknown;
  /** `undefined` if the request has nothing there. */
  readonly found: unknown;
}

/** Whether a request matches the pattern; `basePath` is the path of `http.baseUrl` without a trailing slash. */
export function matchesRequest(pattern: RequestPattern, request: HttpRequest, basePath: string): boolean {
  return isForAddress(pattern, request, basePath) && differencesFrom(pattern, request).length === 0;
}

export function isForAddress({ method, path }: RequestPattern, request: HttpRequest, basePath: string): boolean {
  const { pathname } = request.url;
  return (
    (method === undefined || method === request.method) &&
    (path === undefined || pathname === asPathname(path) || pathname === asPathname(basePath + path))
  );
}

/** Differences in query, headers and body, in this order. */
export function differencesFrom(
  { query = {}, headers = {}, body }: RequestPattern,
  request: HttpRequest,
): readonly Difference[] {
  const { searchParams } = request.url;
  return [
    ...Object.entries(query)
      .map(([name, wanted]) => ({ at: `query.${name}`, wanted, texts: searchParams.getAll(name) }))
      .filter(({ wanted, texts }) => !sameTexts(texts, textsOf(wanted)))
      .map(({ at, wanted, texts }) => ({ at, wanted, found: texts.length > 1 ? texts : texts[0] })),
    ...Object.entries(headers)
      .map(([name, wanted]) => ({ at: `headers.${name}`, wanted, found: request.headers[name.toLowerCase()] }))
      .filter(({ wanted, found }) => found !== wanted),
    ...(body === undefined || matchesBody(body, request) ? [] : [{ at: 'body', wanted: body, found: request.body }]),
  ];
}

/** The path as a URL holds it, so that both `/a b` and `/a%20b` work. */
const asPathname = (path: string): string => {
  const url = new URL('http://mock.invalid');
  url.pathname = path;
  return url.pathname;
};

const textsOf = (value: unknown): readonly string[] => {
  if (value === null) return [];
  return Array.isArray(value) ? value.map(textOf) : [textOf(value)];
};

const sameTexts = (found: readonly string[], wanted: readonly string[]): boolean =>
  found.length === wanted.length && found.every((text, index) => text === wanted[index]);

function matchesBody(wanted: unknown, request: HttpRequest): boolean {
  const { body } = request;
  if (body === undefined) return false;
  if (typeof wanted === 'string') return body === wanted;
  const parsed = parsedBody(request, body);
  if (!(parsed instanceof URLSearchParams)) return holds(parsed, wanted);
  return (
    isJsonObject(wanted) &&
    Object.entries(wanted).every(([name, value]) => sameTexts(parsed.getAll(name), textsOf(value)))
  );
}

const parsedBodies = new WeakMap<HttpRequest, { readonly value: unknown }>();

/**
 * A form or JSON; `undefined` for a body that is neither. Each body is parsed once, because all mocks are compared with
 * it.
 */
function parsedBody(request: HttpRequest, body: string): unknown {
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded');
  const known = parsedBodies.get(request) ?? { value: isForm ? new URLSearchParams(body) : parsedJson(body) };
  parsedBodies.set(request, known);
  return known.value;
}

function parsedJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Whether `value` contains `wanted`: of objects the given fields, everything else as it is. */
function holds(value: unknown, wanted: unknown): boolean {
  if (!isJsonObject(wanted)) return isDeepStrictEqual(value, wanted);
  return isJsonObject(value) && Object.entries(wanted).every(([name, part]) => holds(value[name], part));
}
