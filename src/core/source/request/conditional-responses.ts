import type { HttpResponse } from '../../model/http.ts';
import { lastModifiedOf } from './last-modified.ts';
import { type PageCacheEntry, type ResponseCache, type Sent, unkept } from './response-cache.ts';
import { fromRest, type StoredResponse, toRest } from './stored-response.ts';

/** After this time a response is requested in full once. */
const keptSeconds = 30 * 86_400;

/** Sends the validators of the stored response (RFC 9110 13.1), which is used if the API returns 304. */
export function createConditionalResponses({ client, store, keyOf }: PageCacheEntry): ResponseCache {
  const find = async (key: string): Promise<StoredResponse | null> => {
    const text = (await store.read('connection', [key])).get(key) ?? null;
    return text === null ? null : JSON.parse(text);
  };
  const sent = (key: string, response: HttpResponse): Sent => ({
    response,
    async keep() {
      const kept = Object.keys(conditionsOf(response)).length === 0 ? null : toRest(response);
      if (kept === null) return;
      await store.write('connection', [{ key, text: JSON.stringify(kept), ttlSeconds: keptSeconds, isOpaque: true }]);
    },
  });
  return {
    async send(request, options, page) {
      const key = keyOf(request);
      const kept = page?.isRestarted ? null : await find(key);
      if (kept === null) return sent(key, await client.send(request, options));
      const headers = { ...request.headers, ...conditionsOf(kept) };
      const response = await client.send({ ...request, headers }, options);
      return response.status === 304 ? unkept(fromRest(kept, request)) : sent(key, response);
    },
  };
}

export function conditionsOf({ headers }: Pick<HttpResponse, 'headers'>): Record<string, string> {
  const { etag } = headers;
  const lastModified = lastModifiedOf(headers);
  return {
    ...(etag === undefined ? {} : { 'if-none-match': etag }),
    ...(lastModified === undefined ? {} : { 'if-modified-since': lastModified }),
  };
}
