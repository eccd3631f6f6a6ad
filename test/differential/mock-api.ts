import { gzipSync } from 'node:zlib';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import { fields, isRecord, type JsonRecord, textOf, texts } from './json.ts';
import { hashOf, itemOf } from './mock-items.ts';
import { nested, pathsIn, setAt } from './template-paths.ts';

/** The streams of a manifest whose requests the mock responds to, references resolved. */
export interface MockedStream {
  readonly name: string;
  /** The stream and its parents, resolved. */
  readonly component: JsonRecord;
}

/** A request as both engines send it. */
export interface AskedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** Pages that each list has; items of a page without a size. */
const pages = 3;
const itemsDefault = 2;

/** One endpoint: a stream, or a parent of one. */
interface Endpoint {
  readonly stream: JsonRecord;
  /** Of a report: what of it is asked for. */
  readonly job?: 'creation' | 'polling';
  readonly pattern: RegExp;
  readonly literal: number;
}

/**
 * The response to a request, invented from the stream's extractor, paginator and cursor. It depends on the request alone,
 * so both engines get the same.
 */
export function createMockApi(stream: MockedStream): (request: AskedRequest) => Response {
  const endpoints = endpointsOf(stream.component);
  return (request) => {
    if (/token|oauth|login|auth\b|session/i.test(request.url.pathname) && request.method === 'POST') return loginOf();
    const path = decodeURIComponent(request.url.pathname);
    if (path.startsWith(filePath)) return fileOf(stream.component, request);
    const endpoint = endpoints.filter(({ pattern }) => pattern.test(path)).toSorted((a, b) => b.literal - a.literal)[0];
    if (endpoint?.job !== undefined) return jobOf(endpoint.stream, endpoint.job, request);
    return endpoint === undefined ? json(404, { message: 'no such path' }) : pageOf(endpoint.stream, request);
  };
}

const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

const loginOf = (): Response =>
  json(200, {
    access_token: 'token',
    token: 'token',
    refresh_token: 'refresh',
    expires_in: 3600,
    session: { token: 'token' },
  });

function endpointsOf(stream: JsonRecord): readonly Endpoint[] {
  const whole = isRecord(stream['full_refresh_stream']) ? stream['full_refresh_stream'] : stream;
  const retriever = fields(whole, 'retriever');
  const parents = parentsOf(retriever).flatMap(endpointsOf);
  if (retriever['type'] !== 'AsyncRetriever') return [endpointOf(whole, fields(retriever, 'requester')), ...parents];
  // Later CDKs do not read these manifests, and would ask for the state of a job without end.
  if (retriever['urls_extractor'] !== undefined) return parents;
  return [
    { ...endpointOf(whole, fields(retriever, 'creation_requester')), job: 'creation' },
    { ...endpointOf(whole, fields(retriever, 'polling_requester')), job: 'polling' },
    ...parents,
  ];
}

function endpointOf(stream: JsonRecord, requester: JsonRecord): Endpoint {
  const path = textOf(requester['path']);
  const base = textOf(requester['url_base'] ?? requester['url']);
  const pattern = `${base.replace(/^(?:https?:\/\/)?(?:\{%.*?%\}|\{\{.*?\}\}|[^/{])*/s, '')}/${path.replace(/\?.*$/s, '')}`;
  const source = pattern
    .split(/\{\{.*?\}\}|\{%.*?%\}/s)
    .map((part) => part.replaceAll(/[.*+?^$()|[\]\\{}]/g, '\\$&').replaceAll(/\/+/g, '/+'))
    .join('.*');
  return {
    stream,
    pattern: new RegExp(`${source}/*$`),
    literal: pattern.replaceAll(/\{\{.*?\}\}/gs, '').length,
  };
}

/** Where the files of reports are. */
const filePath = '/mock-files/';

/** A job has an id by its request, is ready at once, and names one file. */
function jobOf(stream: JsonRecord, what: 'creation' | 'polling', request: AskedRequest): Response {
  const retriever = fields(stream, 'retriever');
  const id = `job${hashOf(`${bodyOf(request)} ${scopeOf(request)}`)}`;
  const body: JsonRecord = {};
  if (what === 'creation') {
    const names = pathsIn(JSON.stringify(retriever).replaceAll('\\"', "'"), 'creation_response');
    for (const path of [['id'], ...names]) if (path[0] !== 'request') setAt(body, path, id);
    return json(200, body);
  }
  const mapping = fields(retriever, 'status_mapping');
  setAt(body, pathOf(retriever, 'status_extractor'), [mapping['completed']].flat()[0]);
  setAt(body, pathOf(retriever, 'download_target_extractor'), new URL(filePath + id, request.url).href);
  return json(200, body);
}

/** In one form: the engines write spaces and names in orders of their own. */
function bodyOf({ body }: AskedRequest): string {
  try {
    return canonicalJson(JSON.parse(body));
  } catch {
    return body;
  }
}

/** Headers whose value says for whom the request is. */
const scopeOf = ({ headers }: AskedRequest): string =>
  Object.entries(headers)
    .filter(([name]) => /scope|account|profile/i.test(name))
    .map(([, value]) => value)
    .join(' ');

const pathOf = (retriever: JsonRecord, key: string): readonly string[] =>
  [fields(retriever, key)['field_path'] ?? []].flat().map(textOf);

/** A file of a report, packed where the decoder unpacks one. */
function fileOf(stream: JsonRecord, { url }: AskedRequest): Response {
  const whole = isRecord(stream['full_refresh_stream']) ? stream['full_refresh_stream'] : stream;
  const retriever = fields(whole, 'retriever');
  const items = [0, 1, 2].map((index) => itemOf(whole, { page: 1, index, path: url.pathname }));
  const isCsv = fields(retriever, 'download_extractor')['type'] === 'ResponseToFileExtractor';
  const text = isCsv ? csvOf(items) : JSON.stringify(nested(pathOf(retriever, 'download_extractor'), items));
  const isPacked = isCsv || fields(retriever, 'download_decoder')['type'] === 'GzipDecoder';
  return {
    status: 200,
    headers: { 'content-type': 'application/octet-stream' },
    body: isPacked ? gzipSync(text) : text,
  };
}

const csvOf = (items: readonly JsonRecord[]): string => {
  const names = Object.keys(items[0] ?? {}).filter((name) => typeof items[0]?.[name] === 'string');
  return [names.join(','), ...items.map((item) => names.map((name) => String(item[name])).join(','))].join('\n');
};

/** The parent streams of a retriever. */
function parentsOf(retriever: JsonRecord): readonly JsonRecord[] {
  const router = retriever['partition_router'];
  return (Array.isArray(router) ? router : [router]).filter(isRecord).flatMap((one) => {
    const configs = one['parent_stream_configs'];
    return (Array.isArray(configs) ? configs : []).filter(isRecord).map((config) => fields(config, 'stream'));
  });
}

function pageOf(stream: JsonRecord, request: AskedRequest): Response {
  const retriever = fields(stream, 'retriever');
  const paginator = fields(retriever, 'paginator');
  const strategy = fields(paginator, 'pagination_strategy');
  const page = pageNumber(request, paginator);
  const size = sizeOf(strategy);
  const isLast = paginator['type'] !== 'DefaultPaginator' || page >= pages;
  const count = page > pages ? 0 : isLast && paginator['type'] === 'DefaultPaginator' ? 1 : size;
  const items = Array.from({ length: count }, (_, index) =>
    itemOf(stream, { page, index, path: request.url.pathname }),
  );
  const { body, headers } = withToken(stream, { request, items, page, isLast });
  return json(200, body, headers);
}

/** Items of a full page. */
const sizeOf = (strategy: JsonRecord): number =>
  typeof strategy['page_size'] === 'number' ? Math.min(strategy['page_size'], 120) : itemsDefault;

/** From the token of the request, whichever place it is in. */
function pageNumber(request: AskedRequest, paginator: JsonRecord): number {
  const all = [
    ...request.url.searchParams.values(),
    request.body,
    request.url.href,
    ...Object.values(request.headers),
  ].join(' ');
  const token = /\btok(\d+)\b/.exec(all)?.[1];
  if (token !== undefined) return Number(token);
  const strategy = fields(paginator, 'pagination_strategy');
  const position = /\bSTARTPOSITION (\d+)/.exec(request.url.searchParams.get('query') ?? '')?.[1];
  if (position !== undefined) return Math.floor((Number(position) - 1) / sizeOf(strategy)) + 1;
  const option = fields(paginator, 'page_token_option');
  const name = String(option['field_name'] ?? (Array.isArray(option['field_path']) ? option['field_path'].at(-1) : ''));
  const sent = request.url.searchParams.get(name) ?? request.headers[name.toLowerCase()] ?? inBody(request.body, name);
  if (strategy['type'] === 'CursorPagination') {
    if (/start_?at|offset/i.test(String(strategy['cursor_value'])) && sent !== null)
      return Math.floor(Number(sent) / sizeOf(strategy)) + 1;
    const last = /r(\d+)i/.exec(sent ?? '')?.[1];
    return last === undefined ? (Number(sent) > 1 && Number(sent) < 10 ? Number(sent) : 1) : Number(last) + 1;
  }
  if (sent === null) return 1;
  const start = typeof strategy['start_from_page'] === 'number' ? strategy['start_from_page'] : 0;
  return strategy['type'] === 'OffsetIncrement'
    ? Math.floor(Number(sent) / sizeOf(strategy)) + 1
    : Number(sent) - start + 1;
}

function inBody(body: string, name: string): string | null {
  const found = new RegExp(`"${name}"\\s*:\\s*"?([\\w-]+)|(?:^|&)${name}=([\\w-]+)`).exec(body);
  return found?.[1] ?? found?.[2] ?? null;
}

interface TokenPlace {
  readonly request: AskedRequest;
  readonly items: readonly JsonRecord[];
  readonly page: number;
  readonly isLast: boolean;
}

/** The body around the items, with what the paginator reads from a response. */
function withToken(
  stream: JsonRecord,
  place: TokenPlace,
): { readonly body: unknown; readonly headers: Record<string, string> } {
  const retriever = fields(stream, 'retriever');
  const paginator = fields(retriever, 'paginator');
  const strategy = fields(paginator, 'pagination_strategy');
  const path = [fields(fields(retriever, 'record_selector'), 'extractor')['field_path'] ?? []]
    .flat()
    .map((name) =>
      textOf(name).replace(/\{\{\s*parameters(?:\.|\[')(\w+)(?:'\])?\s*\}\}/, (_, key) =>
        String(fields(stream, '$parameters')[key] ?? key),
      ),
    );
  const star = path.indexOf('*');
  const list = star === -1 ? place.items : place.items.map((item) => nested(path.slice(star + 1), item));
  const body = nested(star === -1 ? path : path.slice(0, star), list);
  const headers: Record<string, string> = {};
  if (strategy['type'] !== 'CursorPagination' || !isRecord(body)) return { body, headers };
  const isPath = fields(paginator, 'page_token_option')['type'] === 'RequestPath';
  const token = place.isLast ? null : isPath ? nextUrl(place) : `tok${place.page + 1}`;
  for (const template of texts([strategy['cursor_value'], strategy['stop_condition']])) {
    const stops = template === strategy['stop_condition'];
    for (const names of pathsIn(template, 'response')) {
      if (names.join('.') === path.join('.') || names.length === 0) continue;
      setAt(
        body,
        names,
        valueFor(names, {
          ...place,
          token,
          stops,
          size: sizeOf(strategy),
          template: String(strategy['cursor_value']) + String(strategy['stop_condition']),
        }),
      );
    }
    if (/headers\[?.{0,3}link/i.test(template) && token !== null) headers['link'] = `<${nextUrl(place)}>; rel="next"`;
  }
  return { body, headers };
}

/** A flag, a number of pages, or the token. */
function valueFor(
  names: readonly string[],
  place: TokenPlace & {
    readonly token: string | null;
    readonly stops: boolean;
    readonly size: number;
    readonly template: string;
  },
): unknown {
  const name = names.at(-1) ?? '';
  if (/^(?:start_?at|offset|start)$/i.test(name)) return (place.page - 1) * place.size;
  if (/^(?:max_?results|limit|size|per_?page|page_?size)$/i.test(name)) return place.size;
  if (name === 'total' && /start_?at|offset/i.test(place.template)) return pages * place.size - 1;
  if (/more|has_?next|incomplete/i.test(name)) return !place.isLast;
  if (/is_?last|end_?of|last_page$|done|finished/i.test(name)) return name.endsWith('page') ? pages : place.isLast;
  if (/total_?pages|page_?count|pages$/i.test(name)) return pages;
  if (/^(?:page|current_?page|page_?number)$/i.test(name)) return place.page;
  if (/total|count/i.test(name)) return place.isLast ? 1 : 1000;
  return place.token;
}

function nextUrl({ request, page }: TokenPlace): string {
  const url = new URL(request.url);
  url.searchParams.set('mock_page', `tok${page + 1}`);
  return url.href;
}
