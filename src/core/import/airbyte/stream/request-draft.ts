import { isJsonObject } from '../../../json/is-json-object.ts';
import { type Component, componentOf, pathAt, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import type { Scope, Value } from '../jinja/value.ts';
import { refuse } from '../refusal.ts';
import { addressText, headerValue, jsonValue, knownText, queryValue, templateOf } from '../render.ts';
import { readProperties } from './query-properties.ts';
import { startScope } from './scopes.ts';

export interface RequestDraft {
  readonly method: 'GET' | 'POST';
  /** Address template, without a trailing slash where a path is appended. */
  base: string;
  /** Without a leading slash; empty for the address alone. */
  path: string;
  readonly query: Record<string, unknown>;
  readonly headers: Record<string, string>;
  body:
    | { readonly kind: 'json' | 'form'; readonly fields: Record<string, unknown> }
    | { readonly kind: 'text'; readonly text: string }
    | null;
  /** `fieldChunks`, where the parameters list too many names for one request. */
  chunks?: Readonly<Record<string, unknown>>;
}

export function readRequester(requester: Component, scope: Scope): RequestDraft {
  const method = (textOf(requester, 'http_method') ?? 'GET').toUpperCase();
  if (method !== 'GET' && method !== 'POST')
    refuse(pathAt(requester, 'http_method'), `reads by ${method.slice(0, 20)} are not made; only GET and POST are`);
  const draft: RequestDraft = { method, ...addressOf(requester, scope), query: {}, headers: {}, body: null };
  readQuery(requester, scope, draft);
  readHeaders(requester, scope, draft);
  readBody(requester, scope, draft);
  for (const key of ['fetch_properties_from_endpoint', 'query_properties']) {
    if (valueOf(requester, key) !== undefined)
      refuse(pathAt(requester, key), 'lists of properties in several requests have no counterpart');
  }
  return draft;
}

function addressOf(requester: Component, scope: Scope): { readonly base: string; readonly path: string } {
  const key = textOf(requester, 'url_base') === undefined ? 'url' : 'url_base';
  const given = textOf(requester, key);
  if (given === undefined) return refuse(requester.path, 'it has neither url_base nor url');
  const base = addressText(given, scope, pathAt(requester, key)).trim();
  const path = addressText(textOf(requester, 'path') ?? '', scope, pathAt(requester, 'path')).trim();
  if (/^https?:\/\//i.test(path)) return { base: path, path: '' };
  if (path === '') return { base, path };
  return { base: base.replace(/(?<!\/)\/+$/, ''), path: path.replace(/^\/+/, '') };
}

/** The address of a login, whose values do not have the braces of paths. */
export const loginUrl = (address: string): string => address.replaceAll('{{{ ', '{{ ').replaceAll(' }}}', ' }}');

export function splitQuery(draft: RequestDraft): void {
  const whole = draft.path === '' ? draft.base : draft.path;
  const at = queryStart(whole);
  if (at === -1) return;
  const [rest, query] = [whole.slice(0, at), whole.slice(at + 1)];
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=');
    if (pair === '') continue;
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? '' : pair.slice(equals + 1);
    draft.query[name] ??= value.includes('{{{') ? value.replaceAll('{{{', '{{').replaceAll('}}}', '}}') : decode(value);
  }
  if (draft.path === '') draft.base = rest;
  else draft.path = rest;
}

function queryStart(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text.startsWith('{{{', at)) depth += 1;
    else if (text.startsWith('}}}', at)) depth -= 1;
    else if (text[at] === '?' && depth === 0) return at;
  }
  return -1;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function readQuery(requester: Component, scope: Scope, draft: RequestDraft): void {
  const at = pathAt(requester, 'request_parameters');
  const parameters = valueOf(requester, 'request_parameters');
  if (parameters === undefined) return;
  if (!isJsonObject(parameters))
    return refuse(at, 'parameters that are one text have no counterpart; list them by name');
  for (const [key, value] of Object.entries(parameters)) {
    if (isJsonObject(value)) {
      draft.query[key] = readProperties(componentOf(value, requester.origins, `${at}.${key}`), draft);
      continue;
    }
    const name = key.includes('{') ? knownText(key, scope, at) : key;
    const rendered = Array.isArray(value) ? value : queryValue(value, scope, `${at}.${key}`);
    if (rendered !== undefined) draft.query[name] = rendered;
  }
}

function readHeaders(requester: Component, scope: Scope, draft: RequestDraft): void {
  const at = pathAt(requester, 'request_headers');
  const headers = valueOf(requester, 'request_headers');
  if (headers === undefined) return;
  if (!isJsonObject(headers)) return refuse(at, 'headers that are one text have no counterpart; list them by name');
  for (const [key, value] of Object.entries(headers)) {
    const rendered = headerValue(value, scope, `${at}.${key}`);
    if (rendered !== undefined) draft.headers[key] = rendered;
  }
}

function readBody(requester: Component, scope: Scope, draft: RequestDraft): void {
  const body = valueOf(requester, 'request_body');
  if (isJsonObject(body)) return readTypedBody(requester, body, scope, draft);
  const json = valueOf(requester, 'request_body_json');
  const data = valueOf(requester, 'request_body_data');
  if (json !== undefined && !isEmpty(json)) setJson(json, { at: pathAt(requester, 'request_body_json'), scope, draft });
  else if (data !== undefined && !isEmpty(data))
    setData(data, { at: pathAt(requester, 'request_body_data'), scope, draft });
}

const isEmpty = (value: unknown): boolean => value === '' || (isJsonObject(value) && Object.keys(value).length === 0);

interface BodyPlace {
  readonly at: string;
  readonly scope: Scope;
  readonly draft: RequestDraft;
}

function readTypedBody(
  requester: Component,
  body: Readonly<Record<string, unknown>>,
  scope: Scope,
  draft: RequestDraft,
): void {
  const at = `${pathAt(requester, 'request_body')}.value`;
  const place = { at, scope, draft };
  const { type, value } = body;
  if (type === 'RequestBodyJsonObject') return setJson(value, place);
  if (type === 'RequestBodyUrlEncodedForm' || type === 'RequestBodyPlainText') return setData(value, place);
  if (type === 'RequestBodyGraphQL' && isJsonObject(value)) return setJson(value, place);
  refuse(at, `a body of the type ${String(type).slice(0, 50)} has no counterpart`);
}

function setJson(value: unknown, { at, scope, draft }: BodyPlace): void {
  const rendered = jsonValue(value, scope, at);
  if (!isJsonObject(rendered)) return refuse(at, 'a body that is one text has no counterpart; write it as an object');
  draft.body = { kind: 'json', fields: rendered };
}

function setData(value: unknown, { at, scope, draft }: BodyPlace): void {
  if (typeof value === 'string') {
    const text = headerValue(value, scope, at);
    draft.body = text === undefined ? null : { kind: 'text', text };
    return;
  }
  if (!isJsonObject(value)) return refuse(at, 'expected fields or a text');
  const fields: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const rendered = queryValue(item, scope, `${at}.${key}`);
    if (rendered !== undefined) fields[key] = rendered;
  }
  draft.body = { kind: 'form', fields };
}

export interface Option {
  readonly in: 'query' | 'header' | 'body';
  /** Nested names, in a JSON body. */
  readonly names: readonly string[];
  /** Whether a body is a form, not JSON. */
  readonly form: boolean;
}

export function readOption(option: Component, config: Config): Option {
  const scope = startScope({ component: option, config });
  const place = textOf(option, 'inject_into');
  const path = valueOf(option, 'field_path');
  const names = Array.isArray(path)
    ? path.map((name) => knownText(String(name), scope, pathAt(option, 'field_path')))
    : [knownText(textOf(option, 'field_name') ?? '', scope, pathAt(option, 'field_name'))];
  if (names.some((name) => name === '')) refuse(option.path, 'it names no field');
  if (place === 'request_parameter' && names.length === 1) return { in: 'query', names, form: false };
  if (place === 'header' && names.length === 1) return { in: 'header', names, form: false };
  if (place === 'body_json') return { in: 'body', names, form: false };
  if (place === 'body_data' && names.length === 1) return { in: 'body', names, form: true };
  return refuse(option.path, `the place ${String(place).slice(0, 50)} of a request has no counterpart`);
}

/**
 * Writes a value into the draft where the option says, over any earlier one. Refuses a body that the request cannot
 * have, at `at`.
 */
export function putOption(draft: RequestDraft, option: Option, value: Value, at: string): void {
  const [name = ''] = option.names;
  const template = templateOf(value);
  if (option.in === 'query') draft.query[name] = template;
  else if (option.in === 'header') draft.headers[name] = String(template);
  else putInBody(draft, option, template, at);
}

/** Refuses a GET request, and a body of another kind. */
function bodyFields(draft: RequestDraft, option: Option, at: string): Record<string, unknown> {
  if (draft.method !== 'POST') return refuse(at, 'a GET request carries no body');
  const kind = option.form ? 'form' : 'json';
  draft.body ??= { kind, fields: {} };
  if (draft.body.kind !== kind) return refuse(at, `the body of the request is no ${kind === 'json' ? 'JSON' : 'form'}`);
  return draft.body.fields;
}

function putInBody(draft: RequestDraft, option: Option, value: unknown, at: string): void {
  let fields = bodyFields(draft, option, at);
  for (const name of option.names.slice(0, -1)) {
    const next = fields[name];
    const inner = isJsonObject(next) ? next : {};
    fields[name] = inner;
    fields = inner;
  }
  fields[option.names.at(-1) ?? ''] = value;
}

export function injectOf(draft: RequestDraft, option: Option, at: string): Readonly<Record<string, unknown>> {
  if (option.in === 'body') {
    bodyFields(draft, option, at);
    if (option.names.some((name) => name.includes('.')))
      return refuse(at, 'a position inside a field whose name has a dot has no counterpart');
  }
  return { in: option.in, name: option.names.join('.') };
}
