import pLimit from 'p-limit';
import type { HttpClient } from '../model/http.ts';

/** Requests beyond `max` wait in order of arrival. */
export function withConcurrencyMax(client: HttpClient, max: number): HttpClient {
  const limit = pLimit(max);
  return { ...client, send: (request, options) => limit(() => client.send(request, options)) };
}
