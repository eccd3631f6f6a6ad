/** For tests: a real HTTP server in the part of a customer's API, and a source that reads from it. */

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as v from 'valibot';
import { AppError } from '../errors.ts';
import type { Evaluator } from '../expressions/evaluation.ts';
import type { Classify, HttpClient, HttpRequest, HttpResponse } from '../model/http.ts';
import { ConnectorSpec } from '../spec/schema/spec-schema.ts';
import { decodeAtOnce } from './decode/decode-turns.ts';
import { type PageRead, readPages } from './read/read-pages.ts';
import type { Source } from './source.ts';

export interface ApiRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** `body` is sent as JSON, text and bytes unchanged. */
export interface ApiReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Api extends AsyncDisposable {
  readonly origin: string;
  readonly requests: readonly ApiRequest[];
}

export async function startApi(response: (request: ApiRequest) => ApiReply | Promise<ApiReply>): Promise<Api> {
  const requests: ApiRequest[] = [];
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const url = new URL(incoming.url ?? '/', `http://${incoming.headers.host}`);
    const body = Buffer.concat(chunks).toString();
    const request = { method: incoming.method ?? '', url, headers: incoming.headers, body };
    requests.push(request);
    const reply = await response(request);
    outgoing.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
    const isRaw = typeof reply.body === 'string' || reply.body instanceof Uint8Array;
    outgoing.end(isRaw ? reply.body : JSON.stringify(reply.body ?? null));
  };
  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing));
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Responds like the guarded client, but fails at once where that one would retry. */
export async function classified(
  response: HttpResponse,
  request: HttpRequest,
  classify: Classify | undefined,
): Promise<HttpResponse> {
  const verdict = (await classify?.(response, request)) ?? { action: 'accept' };
  if ('error' in verdict) throw verdict.error;
  if (verdict.action !== 'accept') throw new AppError('source_unavailable', `The client would ${verdict.action}`);
  return verdict.meaning ? { ...response, meaning: verdict.meaning } : response;
}

const plainClient: HttpClient = {
  send: async (request, { signal, signer, classify }): Promise<HttpResponse> => {
    const { method, url, headers, body = null } = (await signer?.sign(request)) ?? request;
    const response = await fetch(url, { method, headers: { ...headers }, body, signal, redirect: 'manual' });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const { status } = response;
    const plain = { status, headers: Object.fromEntries(response.headers), body: bytes, url: request.url };
    return await classified(plain, request, classify);
  },
  logSaved: async () => {},
  logBlocked: async () => {},
  [Symbol.asyncDispose]: async () => {},
};

/** Parses resource and http settings as a spec, so that every default is filled in. */
export function sourceOf(
  parts: {
    readonly api: Pick<Api, 'origin'>;
    readonly evaluator: Evaluator;
    readonly resource: Readonly<Record<string, unknown>>;
    readonly http?: Readonly<Record<string, unknown>>;
    readonly auth?: Readonly<Record<string, unknown>>;
  },
  overrides: Partial<Source> = {},
): Source {
  const spec = v.parse(ConnectorSpec, {
    metadata: { key: 'test', name: 'Test', version: '1.0.0' },
    auth: parts.auth ?? { kind: 'none' },
    http: { baseUrl: parts.api.origin, ...parts.http },
    resources: [{ key: 'items', primaryKey: 'id', request: { path: '/items' }, ...parts.resource }],
  });
  const [resource] = spec.resources;
  if (!resource) throw new Error('the spec has one resource');
  return {
    resource,
    http: spec.http,
    auth: spec.auth,
    specChecksum: 'sha256:1',
    params: {},
    secrets: {},
    lookups: {},
    each: {},
    run: { id: 'run_1', startedAt: '2026-01-01T00:00:00.000Z', mode: 'incremental' },
    watermark: null,
    backfill: null,
    validators: null,
    responses: null,
    decodeTurns: decodeAtOnce,
    client: plainClient,
    tokens: null,
    mask: () => {},
    evaluator: parts.evaluator,
    now: () => new Date('2026-01-01T00:00:00.000Z'),
    ...overrides,
  };
}

export async function pagesOf(pages: AsyncIterable<PageRead>): Promise<readonly PageRead[]> {
  return await Array.fromAsync(pages);
}

export const idsOf = (pages: readonly PageRead[]): readonly unknown[][] =>
  pages.map((page) => page.records.map((record) => (record as { readonly id: unknown }).id));

export async function readUntilFailure(
  source: Source,
): Promise<{ readonly pages: readonly PageRead[]; readonly error: unknown }> {
  const pages: PageRead[] = [];
  const { signal } = new AbortController();
  try {
    for await (const page of readPages(source, { position: null, signal })) pages.push(page);
    return { pages, error: null };
  } catch (error) {
    return { pages, error };
  }
}

export const inQuery = (name: string) => ({ in: 'query', name });

export const numberOf = (request: ApiRequest, name: string, otherwise: number): number =>
  Number(request.url.searchParams.get(name) ?? otherwise);

export const rows = Array.from({ length: 10 }, (_, index) => ({
  id: index + 1,
  updated_at: new Date(Date.UTC(2025, 0, index + 1)).toISOString(),
}));
