/**
 * The `cache` of requests outside the read of a resource. A delivered page needs only its validators, but looked-up
 * values and lists of deleted records are needed in every run. So the response itself is stored, and a 304 returns it
 * whole: nothing is lost, wherever a run ended.
 */
import type { HttpRequest } from '../../model/http.ts';
import type { RequestTemplate } from '../../spec/schema/http-schema.ts';
import { definitionKey, valueKey } from '../lookups/lookup-key.ts';
import type { LookupStore } from '../lookups/lookup-store.ts';
import type { Source } from '../source.ts';
import { createConditionalResponses } from './conditional-responses.ts';
import { type PageCacheEntry, type ResponseCache, unkept } from './response-cache.ts';
import { createTimedResponses } from './timed-responses.ts';

type KeptSource = Pick<Source, 'http' | 'auth' | 'params' | 'secrets' | 'specChecksum'> &
  Pick<PageCacheEntry, 'client'>;

/**
 * All runs of the connection share the cache, but another spec, other values or credentials find nothing in it. A POST
 * has no cache.
 */
export function openResponseCache(source: KeptSource, template: RequestTemplate, store: LookupStore): ResponseCache {
  const { client } = source;
  const { mode, ttlSeconds = 0 } = template.cache;
  if (mode === 'none' || template.method !== 'GET') {
    return { send: async (request, options) => unkept(await client.send(request, options)) };
  }
  const definition = definitionKey(source, ['response', source.specChecksum]);
  const keyOf = ({ method, url, headers }: HttpRequest): string =>
    valueKey(definition, JSON.stringify([mode, method, url.href, headers]));
  const pageCache = { client, store, keyOf };
  return mode === 'ttl' ? createTimedResponses(pageCache, ttlSeconds) : createConditionalResponses(pageCache);
}
