import type { HttpClient, HttpRequest, HttpResponse, SendOptions } from '../../model/http.ts';
import type { LookupStore } from '../lookups/lookup-store.ts';

/** Sends requests, or answers them with what is kept of earlier ones. */
export interface ResponseCache {
  /** Throws what the client throws. */
  send(request: HttpRequest, options: SendOptions, page?: KeptPage): Promise<Sent>;
}

/** The page of a read that a request asks for; a request without one stands alone. */
export interface KeptPage {
  readonly isFirst: boolean;
  /** The read began again because the token of a page had expired: what is kept would lead to that token once more. */
  readonly isRestarted: boolean;
}

/** What came of a request. */
export interface Sent {
  readonly response: HttpResponse;
  /** Keeps the response for the next time, if the spec asks for it; called once the response has made sense. */
  readonly keep: (read: { readonly isLast: boolean }) => Promise<void>;
}

/** Where the responses to the requests of one template are kept, and how they are asked for. */
export interface PageCacheEntry {
  readonly client: Pick<HttpClient, 'send' | 'logSaved'>;
  readonly store: LookupStore;
  /** Where the response to a request is kept. */
  readonly keyOf: (request: HttpRequest) => string;
}

/** A response that is not kept. */
export const unkept = (response: HttpResponse): Sent => ({ response, keep: async () => {} });
