/** For tests: a client whose requests stay open until the test releases them, in any order. */

import type { HttpClient, HttpResponse } from '../../model/http.ts';
import { classified } from '../source-fixture.ts';

/** Each request is named by its position, the value of one query parameter. */
export interface HeldClient {
  readonly client: HttpClient;
  open(): readonly string[];
  readonly asked: readonly string[];
  /** Requests whose responses the caller has received, after `onResponse`. */
  readonly responded: readonly string[];
  readonly aborted: readonly string[];
  openMax(): number;
  /** The open requests, and aborted ones for a moment. */
  running(): number;
  release(position: string, failure?: Error): void;
}

export interface HeldResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** `response` is called when a request is released; `parameter` holds the position. */
export function createHeldClient(parameter: string, response: (url: URL) => HeldResponse): HeldClient {
  const open = new Map<string, PromiseWithResolvers<HttpResponse> & { readonly url: URL }>();
  const asked: string[] = [];
  const responded: string[] = [];
  const aborted: string[] = [];
  let openMax = 0;
  let running = 0;
  const send: HttpClient['send'] = async (asking, { signal, onResponse, classify }) => {
    const { url } = asking;
    signal.throwIfAborted();
    const position = url.searchParams.get(parameter) ?? '';
    if (open.has(position)) throw new Error(`${position} is asked for twice at once`);
    const request = { ...Promise.withResolvers<HttpResponse>(), url };
    const abort = () => {
      aborted.push(position);
      open.delete(position);
      // A socket takes its time to close.
      setImmediate(() => request.reject(signal.reason));
    };
    running += 1;
    signal.addEventListener('abort', abort, { once: true });
    asked.push(position);
    open.set(position, request);
    openMax = Math.max(openMax, open.size);
    try {
      const received = await request.promise;
      await onResponse?.(received);
      responded.push(position);
      return await classified(received, asking, classify);
    } finally {
      running -= 1;
      signal.removeEventListener('abort', abort);
    }
  };
  return {
    client: { send, logSaved: async () => {}, logBlocked: async () => {}, [Symbol.asyncDispose]: async () => {} },
    open: () => [...open.keys()],
    asked,
    responded,
    aborted,
    openMax: () => openMax,
    running: () => running,
    release(position, failure) {
      const request = open.get(position);
      if (!request) throw new Error(`${position} is not open, but ${[...open.keys()].join(', ')}`);
      open.delete(position);
      if (failure) return request.reject(failure);
      const { url } = request;
      const { status = 200, headers, body } = response(url);
      const bytes = new TextEncoder().encode(JSON.stringify(body));
      request.resolve({ status, headers: { 'content-type': 'application/json', ...headers }, body: bytes, url });
    },
  };
}
