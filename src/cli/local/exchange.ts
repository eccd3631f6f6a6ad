import type { HttpRequest, HttpResponse } from '../../core/model/http.ts';

/** A request without its credentials, and the response that was accepted. */
export interface Exchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
}
