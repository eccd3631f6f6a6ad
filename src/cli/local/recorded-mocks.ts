import { canonicalJson } from '../../core/json/canonical-json.ts';
import { valueAt, withValueAt } from '../../core/json/dotted-path.ts';
import { isJsonObject } from '../../core/json/is-json-object.ts';
import type { ConnectorSpec, Resource } from '../../core/spec/schema/spec-schema.ts';
import type { Mock, RequestPattern } from '../../core/spec/schema/test-schema.ts';
import { CommandError, exitCodes } from '../command-error.ts';
import type { Exchange } from './exchange.ts';
import { maskDeep } from './secret-masks.ts';

export interface RecordedOptions {
  readonly spec: ConnectorSpec;
  readonly resource: Resource;
  readonly mask: (text: string) => string;
  /** `null` keeps all. */
  readonly recordsMax: number | null;
}

/** Throws when a response is not text. */
export function recordedMocks(exchanges: readonly Exchange[], options: RecordedOptions): readonly Mock[] {
  const patterns = patternsOf(exchanges, options.mask);
  const recorded = exchanges.map((exchange, index) => ({
    request: patterns[index] ?? {},
    respond: responseOf(exchange, options),
  }));
  const byRequest = Map.groupBy(recorded, ({ request }) => canonicalJson(request));
  const seen = new Set<string>();
  return recorded.flatMap((mock): readonly Mock[] => {
    const key = canonicalJson(mock.request);
    const same = byRequest.get(key) ?? [];
    const isAlways = new Set(same.map(({ respond }) => canonicalJson(respond))).size === 1;
    if (isAlways && seen.has(key)) return [];
    seen.add(key);
    return [isAlways ? mock : { ...mock, times: 1 }];
  });
}

/** A request that lacks a parameter of other requests to the same path requires its absence. */
function patternsOf(exchanges: readonly Exchange[], mask: RecordedOptions['mask']): readonly RequestPattern[] {
  const placeOf = ({ request }: Exchange) => `${request.method} ${request.url.pathname}`;
  const names = new Map<string, Set<string>>();
  for (const exchange of exchanges) {
    const known = names.get(placeOf(exchange)) ?? new Set();
    for (const name of exchange.request.url.searchParams.keys()) known.add(name);
    names.set(placeOf(exchange), known);
  }
  return exchanges.map((exchange) => {
    const { method, url, body, headers } = exchange.request;
    const query = [...(names.get(placeOf(exchange)) ?? [])].map(
      (name) => [name, parameterOf(url, name, mask)] as const,
    );
    return {
      ...(method === 'GET' ? {} : { method }),
      path: mask(url.pathname),
      ...(query.length === 0 ? {} : { query: Object.fromEntries(query) }),
      ...(body === undefined ? {} : { body: bodyPattern(mask(body), headers['content-type']) }),
    };
  });
}

function parameterOf(url: URL, name: string, mask: RecordedOptions['mask']): string | readonly string[] | null {
  const values = url.searchParams.getAll(name).map(mask);
  return values.length > 1 ? values : (values[0] ?? null);
}

function bodyPattern(body: string, contentType = ''): Exclude<RequestPattern['body'], undefined> {
  if (contentType.startsWith('application/x-www-form-urlencoded')) {
    const form = new URLSearchParams(body);
    return Object.fromEntries([...new Set(form.keys())].map((name) => [name, form.getAll(name)]));
  }
  return parsed(body) ?? body;
}

function responseOf({ request, response }: Exchange, options: RecordedOptions): Mock['respond'] {
  const text = textOf(request.url.pathname, response.body);
  const json = exactJson(text);
  const headers = Object.entries(response.headers)
    .filter(([name]) => isUsed(name, options.spec) || (name === 'content-type' && json === undefined))
    .map(([name, value]) => [name, options.mask(value)] as const);
  const body = json === undefined ? text : firstItems(json, options);
  return {
    status: response.status,
    headers: Object.fromEntries(headers),
    ...(text === ''
      ? {}
      : {
          body: typeof body === 'string' ? options.mask(body) : maskDeep(body, options.mask),
        }),
  };
}

function textOf(path: string, body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch (cause) {
    const message = `The response of ${path} is no text, and a test can hold only text.`;
    throw new CommandError(exitCodes.wrong, 'not_recordable', message, { cause });
  }
}

/** Undefined unless it is a JSON object or list whose numbers JavaScript keeps exactly. */
function exactJson(text: string): unknown {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || /[:[,\s]-?\d{16,}/.test(text)) return undefined;
  return value;
}

function parsed(text: string): Mock['respond']['body'] {
  try {
    return JSON.parse(text) as Mock['respond']['body'];
  } catch {
    return undefined;
  }
}

function firstItems(body: unknown, { resource, recordsMax }: RecordedOptions): unknown {
  if (recordsMax === null) return body;
  const path = resource.response.records;
  if (path.split('.').includes('*')) return firstElements(body, path.split('.'), recordsMax);
  const items = path === '$' ? body : valueAt(body, path);
  if (!Array.isArray(items) || items.length <= recordsMax) return body;
  const first: readonly unknown[] = items.slice(0, recordsMax);
  return path === '$' ? first : withValueAt(body, path, first);
}

function firstElements(value: unknown, [name, ...rest]: readonly string[], count: number): unknown {
  if (name === undefined) return value;
  const shortened = (child: unknown): unknown => firstElements(child, rest, count);
  if (name !== '*') {
    return isJsonObject(value) && Object.hasOwn(value, name) ? { ...value, [name]: shortened(value[name]) } : value;
  }
  if (Array.isArray(value)) return value.slice(0, count).map(shortened);
  if (!isJsonObject(value)) return value;
  const first = Object.entries(value).slice(0, count);
  return Object.fromEntries(first.map(([key, child]) => [key, shortened(child)]));
}

/** `Link` and the headers that the spec names; the clock of a test gives `Date`. */
function isUsed(name: string, spec: ConnectorSpec): boolean {
  if (name === 'link') return true;
  if (neverUsed.has(name)) return false;
  const { tests: _tests, metadata: _metadata, ...read } = spec;
  const names = namesIn(read);
  return names.some((text) => text.includes(name));
}

const neverUsed: ReadonlySet<string> = new Set([
  'date',
  'set-cookie',
  'content-type',
  'content-length',
  'server',
  'connection',
]);

function namesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value.toLowerCase()];
  if (Array.isArray(value)) return value.flatMap(namesIn);
  return isJsonObject(value) ? Object.values(value).flatMap(namesIn) : [];
}
