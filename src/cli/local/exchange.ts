import type { HttpRequest, HttpResponse } from '../../core/model/http.ts';

/** Without credentials; only accepted responses. */
export interface Exchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
}
