import { canonicalJson } from '../json/canonical-json.ts';
import { isJsonObject } from '../json/is-json-object.ts';
import { textOf } from '../json/json-text.ts';
import type { HttpRequest } from '../model/http.ts';
import type { RequestPattern } from '../spec/schema/test-schema.ts';

/** Whether a request is of the given form; `basePath` is the path of `http.baseUrl`, without a slash at its end. */
export function matchesRequest(pattern: RequestPattern, request: HttpRequest, basePath: string): boolean {
  const { method, path, query = {}, headers = {}, body } = pattern;
  const { pathname, searchParams } = request.url;
  return (
    (method === undefined || method === request.method) &&
    (path === undefined || pathname === asPathname(path) || pathname === asPathname(basePath + path)) &&
    Object.entries(query).every(([name, value]) => sameTexts(searchParams.getAll(name), textsOf(value))) &&
    Object.entries(headers).every(([name, value]) => request.headers[name.toLowerCase()] === value) &&
    (body === undefined || matchesBody(body, request))
  );
}

/** The path as a URL holds it, so that both `/a b` and `/a%20b` can be written. */
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

function matchesBody(wanted: unknown, { body, headers }: HttpRequest): boolean {
  if (body === undefined) return false;
  if (typeof wanted === 'string') return body === wanted;
  if (!headers['content-type']?.startsWith('application/x-www-form-urlencoded')) return holds(parsed(body), wanted);
  const form = new URLSearchParams(body);
  return (
    isJsonObject(wanted) &&
    Object.entries(wanted).every(([name, value]) => sameTexts(form.getAll(name), textsOf(value)))
  );
}

/** Undefined for a body that is not JSON. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Whether `value` has all that `wanted` has: of objects the given fields, everything else as it is. */
function holds(value: unknown, wanted: unknown): boolean {
  if (!isJsonObject(wanted)) return value !== undefined && canonicalJson(value) === canonicalJson(wanted);
  return isJsonObject(value) && Object.entries(wanted).every(([name, part]) => holds(value[name], part));
}
