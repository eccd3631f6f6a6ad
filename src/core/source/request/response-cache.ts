import type { HttpClient, HttpRequest, HttpResponse, SendOptions } from '../../model/http.ts';
import type { LookupStore } from '../lookups/lookup-store.ts';

/** Sends requests, or responds from the cache. */
export interface ResponseCache {
  /** Throws what the client throws. */
  send(request: HttpRequest, options: SendOptions, page?: KeptPage): Promise<Sent>;
}

/** The page of a read that a request belongs to; a request without one is independent. */
export interface KeptPage {
  readonly isFirst: boolean;
  /** The read restarted because the token of a page had expired: the cached response would lead to that token again. */
  readonly isRestarted: boolean;
}

/** The result of a request. */
export interface Sent {
  readonly response: HttpResponse;
  /** Caches the response for the next time, if the spec says so; called once the response is found valid. */
  readonly keep: (read: { readonly isLast: boolean }) => Promise<void>;
}

/** Where the responses to the requests of one template are cached, and how they are requested. */
export interface PageCacheEntry {
  readonly client: Pick<HttpClient, 'send' | 'logSaved'>;
  readonly store: LookupStore;
  /** Where the response to a request is cached. */
  readonly keyOf: (request: HttpRequest) => string;
}

/** A response that is not cached. */
export const unkept = (response: HttpResponse): Sent => ({ response, keep: async () => {} });
