import { hash } from 'node:crypto';
import type { Roots } from '../../expressions/template.ts';
import type { PagePosition } from '../../model/read-position.ts';
import type { Validators } from '../../model/validators.ts';
import type { Pagination } from '../../spec/schema/pagination-schema.ts';
import { pageRoots } from '../read/paginate.ts';
import type { Source } from '../source.ts';
import { type Injection, type RenderedRequest, rendererFor, renderRequest } from './render-request.ts';
import { conditionalHeaders, storedFor } from './validators.ts';

export interface RequestRoots {
  /** As requests carry it, or `null` if open: the parameter is left out. */
  readonly window: { readonly from: string | number | null; readonly to: string | number | null };
  readonly watermark: string | number | null;
}

interface BuiltPage extends RequestRoots {
  /** Seen as `job`. */
  readonly job?: Readonly<Record<string, unknown>>;
  readonly position: PagePosition;
  /** Seen as `chunk.fields`. */
  readonly chunk?: unknown;
  /** Seen as `auth`. */
  readonly auth?: Readonly<Record<string, unknown>>;
}

export interface BuiltRequest extends RenderedRequest {
  /** Without the credentials that a query may carry. */
  readonly url: string;
  /** Hash of method, address and body, independent of the signer. */
  readonly key: string;
  readonly stored: Validators | null;
}

/** Requests exactly the address that the API gave for a page, if any; throws `spec_invalid`, `egress_blocked`. */
export async function buildRequest(source: Source, page: BuiltPage): Promise<BuiltRequest> {
  const { resource } = source;
  const { position } = page;
  const link = position.url;
  const { http: plain, base } = await renderRequest(source, resource.request, {
    render: rendererFor(source, requestRoots(source, page)),
    link,
    inject: link === null ? injection(resource.pagination, position) : null,
  });
  const url = plain.url.href;
  const key = requestKeyOf(source, { http: plain, url });
  const stored = storedFor(source, position, key);
  const headers = { ...plain.headers, ...conditionalHeaders(source, stored) };
  return { http: { ...plain, headers }, url, base, key, stored };
}

function requestKeyOf(
  { masked = asItIs }: Pick<Source, 'masked'>,
  request: {
    readonly http: { readonly method: string; readonly body?: string | null };
    readonly url: string;
  },
): string {
  const content = [request.http.method, request.url, request.http.body ?? null];
  return hash('sha256', masked(JSON.stringify(content)), 'hex').slice(0, 32);
}

const asItIs = (text: string): string => text;

function requestRoots(source: Source, page: BuiltPage): Roots {
  const { params, each, lookups, run, resource } = source;
  const { window, watermark, position, chunk, job, auth = {} } = page;
  const more = { ...(chunk === undefined ? {} : { chunk: { fields: chunk } }), ...(job && { job }) };
  return {
    params,
    auth,
    each,
    lookups,
    run,
    window,
    watermark,
    page: pageRoots(resource.pagination, position),
    ...more,
  };
}

/** `null` if the position goes nowhere (first page of a cursor, links). */
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
