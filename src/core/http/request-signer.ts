import type { HttpRequest } from './client.ts';

/** Puts credentials into one logical request. */
export interface RequestSigner {
  /** Asked anew for each attempt, after its wait: no token and no timestamp is older than the attempt it goes with. */
  sign(request: HttpRequest): Promise<HttpRequest>;
  /** Replaces the credentials of the last attempt, which the API refused. */
  refresh(): Promise<void>;
}
