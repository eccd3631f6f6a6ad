import { setImmediate as nextTurn } from 'node:timers/promises';
import { exhausted, requestedWaitMs, waitTooLong } from '../http/next-wait.ts';
import type { RetryPolicy } from '../http/retry.ts';
import { classifyByStatus } from '../http/retry.ts';
import { limitUrl } from '../http/url-limit.ts';
import type { Classify, HttpClient } from '../model/http.ts';
import type { MockApi } from './mock-api.ts';

export interface MockClientOptions {
  readonly api: MockApi;
  /** Path of `http.baseUrl` without a trailing slash. */
  readonly basePath: string;
  readonly retry: RetryPolicy;
  readonly now: Date;
}

const byStatus: Classify = async (response, request) =>
  response.status === null ? { action: 'retry' } : classifyByStatus(response, request, request.url.pathname);

/** A client that reaches only mocks: it classifies responses like the real one, but never waits or signs. */
export function createMockClient(options: MockClientOptions): HttpClient {
  const { api, basePath, retry, now } = options;
  return {
    send: async (request, { signal, signer, classify = byStatus }) => {
      limitUrl(request.url.href);
      const where = `${request.method} ${request.url.pathname}`;
      let refreshed = false;
      for (let attempt = 1; ; attempt += 1) {
        // Mocks take no time: without a pause the timer of a test would never fire during an endless read.
        await nextTurn();
        signal.throwIfAborted();
        const response = api.response(request, basePath);
        const verdict = await classify(response, request);
        if (verdict.action === 'accept') return verdict.meaning ? { ...response, meaning: verdict.meaning } : response;
        if (verdict.action === 'fail') throw verdict.error;
        if (verdict.action === 'refresh') {
          if (refreshed || !signer) throw verdict.error;
          refreshed = true;
          continue;
        }
        const requestedMs = requestedWaitMs({ response }, verdict, now.getTime());
        if (requestedMs !== null && requestedMs > retry.maxWaitSeconds * 1000)
          throw waitTooLong(where, requestedMs, retry);
        if (attempt >= retry.maxAttempts) throw exhausted(where, { response }, attempt);
      }
    },
    logSaved: async () => {},
    logBlocked: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}
