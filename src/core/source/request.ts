import { createHash } from 'node:crypto';
import { AppError } from '../errors.ts';
import { type Roots, renderTemplate } from '../expressions/template.ts';
import type { HttpRequest } from '../http/client.ts';
import { isReachable } from '../http/origin.ts';
import type { HttpSettings, RequestTemplate } from '../spec/http-schema.ts';
import type { Inject, Pagination } from '../spec/pagination-schema.ts';
import type { Credentials } from './auth.ts';
import { credentialsOf } from './credentials.ts';
import { isObject } from './dotted-path.ts';
import { pageRoots } from './paginate.ts';
import { queryPairs } from './query-string.ts';
import type { PagePosition } from './read-position.ts';
import { renderBody } from './request-body.ts';
import type { Source } from './source.ts';
import { textOf } from './text-of.ts';
import { type FillHole, renderPath, renderUrl } from './url-template.ts';

/** What request templates see of the read besides the connection's own values. */
export interface RequestRoots {
  /** As requests carry it; null: open, the parameter is left out. */
  readonly window: { readonly from: string | number | null; readonly to: string | number | null };
  readonly watermark: string | number | null;
}

/** A request ready to be sent. */
export interface BuiltRequest {
  readonly http: HttpRequest;
  /** The address without the credentials that a query may carry. */
  readonly url: string;
  /** Links in the answer must stay on the origin of this address or lead to an allowed host. */
  readonly base: URL;
}

/**
 * The request of one page: templates filled in, page position put in, credentials added. A page that the API gave as
 * an address is asked for at exactly that address. Throws `spec_invalid`, `auth_failed`, `egress_blocked`.
 */
export async function buildRequest(
  source: Source,
  page: RequestRoots & { readonly position: PagePosition },
): Promise<BuiltRequest> {
  const { resource, http } = source;
  const { pagination, request: template } = resource;
  const render = rendererFor(source, requestRoots(source, page));
  const { url, base } = await addressOf(http, template, { render, link: page.position.url });
  const inject = page.position.url === null ? injection(pagination, page.position) : null;
  if (page.position.url === null) await addQuery(url, { http, template, inject, render });
  const body = template.method === 'POST' ? await renderBody(template, inject, (value) => render.value(value)) : null;
  const headers = await headersOf(http, template, { inject, render });
  if (body) headers['content-type'] ??= body.contentType;
  const plain = { method: template.method, url: url.href, body: body?.text ?? null };
  Object.assign(headers, conditionalHeaders(source, page.position, requestKeyOf({ http: plain, url: plain.url })));
  const credentials = await credentialsOf(source);
  const signed = addCredentials(url, headers, credentials);
  refuseControlCharacters(signed.headers);
  return {
    http: { ...transport(http, template), ...signed, ...(body ? { body: body.text } : {}) },
    url: url.href,
    base,
  };
}

/** Hash of method, address and body: the same request has the same key, whoever signs it. */
export function requestKeyOf(request: {
  readonly http: { readonly method: string; readonly body?: string | null };
  readonly url: string;
}): string {
  const content = [request.http.method, request.url, request.http.body ?? null];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 32);
}

/** Fills in templates of a request. */
interface Renderer {
  value(template: unknown): Promise<unknown>;
  readonly hole: FillHole;
}

function rendererFor(source: Source, roots: Roots): Renderer {
  const options = { evaluator: source.evaluator, now: new Date(source.run.startedAt) };
  return {
    value: (template) => renderTemplate(template, roots, { ...options, missing: 'omit' }),
    hole: (expression) => renderTemplate(`{{ ${expression} }}`, roots, { ...options, missing: 'fail' }),
  };
}

function requestRoots(source: Source, page: RequestRoots & { readonly position: PagePosition }): Roots {
  const { params, each, lookups, run, resource } = source;
  const { window, watermark, position } = page;
  return { params, auth: {}, each, lookups, run, window, watermark, page: pageRoots(resource.pagination, position) };
}

async function addressOf(
  http: HttpSettings,
  template: RequestTemplate,
  options: { readonly render: Renderer; readonly link: string | null },
): Promise<{ readonly url: URL; readonly base: URL }> {
  const { hole } = options.render;
  const root = http.baseUrl === undefined ? null : await renderUrl(http.baseUrl, hole);
  const own = template.url === undefined ? null : await renderUrl(template.url, hole);
  const base = root ?? own;
  if (base === null) throw new AppError('spec_invalid', 'The request has neither http.baseUrl nor a url of its own.');
  const url =
    options.link === null ? (own ?? (await renderPath(template.path ?? '/', base, hole))) : new URL(options.link);
  if (isReachable(url, base, http.allowedHosts)) return { url: new URL(url), base };
  const message = 'The request leads away from http.baseUrl. List its host in http.allowedHosts if it is meant.';
  throw new AppError('egress_blocked', message);
}

interface Injection {
  readonly into: Inject;
  readonly value: string | number;
}

/** Where the page's position goes; null when it goes nowhere (first page of a cursor, links). */
function injection(pagination: Pagination, position: PagePosition): Injection | null {
  switch (pagination.kind) {
    case 'page':
      return { into: pagination.inject, value: position.number };
    case 'offset':
      return { into: pagination.inject, value: position.offset };
    case 'cursor':
    case 'keyset':
      return position.cursor === null ? null : { into: pagination.inject, value: position.cursor };
    case 'none':
    case 'next_url':
    case 'link_header':
      return null;
  }
}

async function addQuery(
  url: URL,
  parts: {
    readonly http: HttpSettings;
    readonly template: RequestTemplate;
    readonly inject: Injection | null;
    readonly render: Renderer;
  },
): Promise<void> {
  const { http, template, inject, render } = parts;
  const query = await render.value({ ...http.query, ...template.query });
  const pairs = queryPairs(isObject(query) ? query : {}, template.arrayFormat);
  for (const [name, value] of pairs) url.searchParams.append(name, value);
  if (inject?.into.in === 'query') url.searchParams.set(inject.into.name, String(inject.value));
}

async function headersOf(
  http: HttpSettings,
  template: RequestTemplate,
  options: { readonly inject: Injection | null; readonly render: Renderer },
): Promise<Record<string, string>> {
  const headers: Record<string, string> = { accept: 'application/json' };
  for (const [name, value] of [...Object.entries(http.headers), ...Object.entries(template.headers)]) {
    const rendered = await options.render.value(value);
    if (rendered !== undefined && rendered !== null) headers[name.toLowerCase()] = textOf(rendered);
  }
  const { inject } = options;
  if (inject?.into.in === 'header') headers[inject.into.name.toLowerCase()] = String(inject.value);
  return headers;
}

function conditionalHeaders(source: Source, position: PagePosition, requestKey: string): Record<string, string> {
  const { validators, resource } = source;
  const wanted = resource.request.cache.mode === 'conditional' && resource.request.method === 'GET';
  if (!wanted || position.index > 1 || validators?.requestKey !== requestKey) return {};
  return {
    ...(validators.etag === null ? {} : { 'if-none-match': validators.etag }),
    ...(validators.lastModified === null ? {} : { 'if-modified-since': validators.lastModified }),
  };
}

function addCredentials(url: URL, headers: Readonly<Record<string, string>>, credentials: Credentials) {
  const signed = new URL(url);
  for (const [name, value] of Object.entries(credentials.query)) signed.searchParams.set(name, value);
  const cookies = Object.entries(credentials.cookies).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const cookie = [headers['cookie'], ...cookies].filter((part) => part !== undefined).join('; ');
  return { url: signed, headers: { ...headers, ...credentials.headers, ...(cookie === '' ? {} : { cookie }) } };
}

/** A line break in a value would add headers of the customer's choice. */
function refuseControlCharacters(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) continue;
    throw new AppError('spec_invalid', `The value of the header "${name}" has characters that a header cannot carry.`);
  }
}

const transport = (http: HttpSettings, template: RequestTemplate) => ({
  method: template.method,
  timeoutMs: template.timeoutMs ?? http.timeoutMs,
  responseBytesMax: http.maxResponseBytes,
  allowedHosts: http.allowedHosts,
});
