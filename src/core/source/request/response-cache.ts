import type { HttpClient, HttpRequest, HttpResponse, SendOptions } from '../../model/http.ts';
import type { LookupStore } from '../lookups/lookup-store.ts';

export interface ResponseCache {
  /** Throws what the client throws. */
  send(request: HttpRequest, options: SendOptions, page?: KeptPage): Promise<Sent>;
}

/** The page of a read that a request belongs to, absent for an independent request. */
export interface KeptPage {
  readonly isFirst: boolean;
  /** After an expired page token, the cached response would lead to that token again. */
  readonly isRestarted: boolean;
}

export interface Sent {
  readonly response: HttpResponse;
  /** Caches the response if the spec says so, once it is found valid. */
  readonly keep: (read: { readonly isLast: boolean }) => Promise<void>;
}

export interface PageCacheEntry {
  readonly client: Pick<HttpClient, 'send' | 'logSaved'>;
  readonly store: LookupStore;
  readonly keyOf: (request: HttpRequest) => string;
}

export const unkept = (response: HttpResponse): Sent => ({ response, keep: async () => {} });
