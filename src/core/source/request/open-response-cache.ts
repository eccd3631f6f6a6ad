/**
 * The `cache` of requests outside the read of a resource. Of a page that was delivered nothing is needed but its
 * validators: a 304 says that there is nothing new. What is looked up, or listed as deleted, has to be there again, in
 * every run: so the answer itself is kept, and a 304 brings it back whole. Nothing is lost by that, wherever a run ended.
 */
import type { HttpRequest } from '../../model/http.ts';
import type { RequestTemplate } from '../../spec/schema/http-schema.ts';
import { definitionKey, valueKey } from '../lookups/lookup-key.ts';
import type { LookupStore } from '../lookups/lookup-store.ts';
import type { Source } from '../source.ts';
import { createConditionalAnswers } from './conditional-responses.ts';
import { type KeptAnswers, type KeptShelf, unkept } from './response-cache.ts';
import { createTimedAnswers } from './timed-responses.ts';

type KeptSource = Pick<Source, 'http' | 'auth' | 'params' | 'secrets' | 'specChecksum'> & Pick<KeptShelf, 'client'>;

/**
 * The answers to requests made of `template`, for one read. They are shared by the runs of the connection; another spec,
 * other values or credentials find nothing of them. A POST has no cache.
 */
export function openKeptAnswers(source: KeptSource, template: RequestTemplate, store: LookupStore): KeptAnswers {
  const { client } = source;
  const { mode, ttlSeconds = 0 } = template.cache;
  if (mode === 'none' || template.method !== 'GET') {
    return { send: async (request, options) => unkept(await client.send(request, options)) };
  }
  const definition = definitionKey(source, ['answer', source.specChecksum]);
  const keyOf = ({ method, url, headers }: HttpRequest): string =>
    valueKey(definition, JSON.stringify([mode, method, url.href, headers]));
  const shelf = { client, store, keyOf };
  return mode === 'ttl' ? createTimedAnswers(shelf, ttlSeconds) : createConditionalAnswers(shelf);
}
