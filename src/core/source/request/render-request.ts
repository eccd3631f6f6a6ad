import { AppError } from '../../errors.ts';
import { type Roots, renderTemplate } from '../../expressions/template.ts';
import { BlockedUrlError } from '../../http/egress-blocked.ts';
import { isReachable } from '../../http/origin.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { textOf } from '../../json/json-text.ts';
import type { HttpRequest } from '../../model/http.ts';
import type { HttpSettings, RequestTemplate } from '../../spec/schema/http-schema.ts';
import type { Inject } from '../../spec/schema/pagination-schema.ts';
import type { Source } from '../source.ts';
import { loggingBlocked } from './log-blocked.ts';
import { queryPairs } from './query-string.ts';
import { renderBody } from './request-body.ts';
import { type FillHole, renderPath, renderUrl } from './url-template.ts';

export interface Renderer {
  /** Leaves out what has no value. */
  value(template: unknown): Promise<unknown>;
  readonly hole: FillHole;
}

/** Without the value that names its partition, a request would get the records of all partitions. */
const whyNeeded = (expression: string): string | null =>
  /^\s*\$?each(?:\s*\.\s*\w+)+\s*$/.test(expression)
    ? 'A request without it may return the records of other partitions: leave such values out with `when` of forEach, or name a default, as in {{ each.a.b ? each.a.b : "none" }}.'
    : null;

export function rendererFor(source: Pick<Source, 'evaluator' | 'run'>, roots: Roots): Renderer {
  const options = { evaluator: source.evaluator, now: new Date(source.run.startedAt) };
  return {
    value: (template) => renderTemplate(template, roots, { ...options, missing: 'omit', whyNeeded }),
    hole: (expression) => renderTemplate(`{{ ${expression} }}`, roots, { ...options, missing: 'fail' }),
  };
}

/** A value outside the template, such as the position of the page, and its place. */
export interface Injection {
  readonly into: Inject;
  readonly value: string | number;
}

/** Without credentials. */
export interface RenderedRequest {
  readonly http: HttpRequest;
  /** Links in the response must stay on the origin of this address or lead to an allowed host. */
  readonly base: URL;
}

/**
 * Fills in the templates and adds the shared headers and query; `link`, if given, replaces the template's address.
 * Throws `spec_invalid`, and `egress_blocked`, logged, for a blocked address.
 */
export async function renderRequest(
  { http, client }: Pick<Source, 'http' | 'client'>,
  template: RequestTemplate,
  parts: { readonly render: Renderer; readonly link: string | null; readonly inject: Injection | null },
): Promise<RenderedRequest> {
  const { render, link, inject } = parts;
  const { url, base } = await loggingBlocked(client, template.method, () =>
    addressOf(http, template, { render, link }),
  );
  if (link === null) await addQuery(url, { http, template, inject, render });
  const body = template.method === 'POST' ? await renderBody(template, inject, (value) => render.value(value)) : null;
  const headers = await headersOf(http, template, { inject, render });
  if (body) headers['content-type'] ??= body.contentType;
  refuseControlCharacters(headers);
  return { http: { ...transport(http, template), url, headers, ...(body ? { body: body.text } : {}) }, base };
}

/** Throws `spec_invalid`, as a line break in a value would add headers of the customer's choice. */
export function refuseControlCharacters(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) continue;
    throw new AppError(
      'spec_invalid',
      `The value of the header "${name}" has characters that are not allowed in a header. Correct its template.`,
    );
  }
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
  throw new BlockedUrlError('away', new URL(url));
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
  const pairs = queryPairs(isJsonObject(query) ? query : {}, template.arrayFormat);
  const injected = inject?.into.in === 'query' ? inject : null;
  if (pairs.length === 0 && injected === null) return;
  // The parameters of the URL itself would rewrite it with each change.
  const all = new URLSearchParams(url.search);
  for (const [name, value] of pairs) all.append(name, value);
  if (injected !== null) all.set(injected.into.name, String(injected.value));
  url.search = all.toString();
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

const transport = (http: HttpSettings, template: RequestTemplate) => ({
  method: template.method,
  timeoutMs: template.timeoutMs ?? http.timeoutMs,
  responseBytesMax: http.maxResponseBytes,
  allowedHosts: http.allowedHosts,
  ...(template.rateLimit && { rateLimit: { ...template.rateLimit, name: bucketName(template) } }),
});

/** An endpoint has one budget, whichever resource sends the request. */
const bucketName = ({ method, path, url = '' }: RequestTemplate) => `${method} ${path ?? url}`;
