import type { Enrichment } from '../../spec/schema/lookup-schema.ts';
import { mapWithPauses } from '../../work/map-with-pauses.ts';
import type { Source } from '../source.ts';
import { type CountValues, cachedText, type KeyResponse, type KeyResponses, responseOf } from './enrich-response.ts';
import { definitionKey, valueKey } from './lookup-key.ts';
import type { CacheScope, LookupStore, NewCachedValue } from './lookup-store.ts';
import { tableDigest } from './table-room.ts';

/** The cached responses of one step, as one page sees them. */
export interface PageCache {
  /** Where the response to a key is cached: two pages that may share it have the same. */
  keyOf(text: string): string;
  /** The cached responses, each of them counted. */
  read(texts: readonly string[], count: CountValues): Promise<Map<string, KeyResponse>>;
  /** Caches responses; `interrupted`: the page will be processed again. */
  keep(responses: KeyResponses, options: { readonly interrupted: boolean }): Promise<void>;
}

/** A page and what makes it recognisable when it is processed again. */
export interface ShelvedPage {
  readonly each: Source['each'];
  readonly identity: string;
}

/** Seconds for which a response shared by runs is valid when its spec does not say. */
const sharedTtlSeconds = 3600;
/** Seconds for which the absence of a key is valid, likewise. */
const sharedNegativeTtlSeconds = 300;
/** Keys of one statement: each value has 1 MB at most. */
const keysAtOnce = 100;
/** Refusals remembered in this process. */
const refusedMax = 10_000;

/**
 * The cache entries of a step. A step without a cache has its own for each page, which is used only when the processing
 * of the page was interrupted: otherwise an API that demands long waits would get the same requests forever.
 */
export function createPageCaches(
  step: Enrichment,
  source: Pick<Source, 'http' | 'auth' | 'params' | 'secrets' | 'lookups'>,
  store: LookupStore,
): (page: ShelvedPage) => PageCache {
  const { request, batch, select, cache } = step;
  const text = JSON.stringify([request, batch, select]);
  const tables = Object.entries(source.lookups)
    .filter(([name]) => text.includes(name))
    .map(([name, table]) => [name, tableDigest(table)]);
  const definition = definitionKey(source, [request, batch, select, tables]);
  const perPage = cache.scope === 'none' || step.key === undefined;
  const scope: CacheScope = cache.scope === 'connection' && !perPage ? 'connection' : 'run';
  const ttls = perPage ? { found: null, missing: null } : ttlsOf(cache);
  const rejections = createRejections();
  return ({ each, identity }) => {
    const salt = JSON.stringify([text.includes('each') ? each : null, perPage ? identity : null]);
    const keyOf = (key: string): string => valueKey(`${definition}\n${salt}`, key);
    const valueOf = ([key, response]: readonly [string, KeyResponse]): readonly NewCachedValue[] =>
      response.kind === 'failed'
        ? []
        : [{ key: keyOf(key), text: cachedText(response), ttlSeconds: ttls[response.kind] }];
    return {
      keyOf,
      async read(texts, count) {
        const responses = new Map<string, KeyResponse>();
        for (let at = 0; at < texts.length; at += keysAtOnce) {
          const part = texts.slice(at, at + keysAtOnce);
          const kept = await store.read(scope, part.map(keyOf));
          await mapWithPauses(part, (key) => {
            const cached = kept.get(keyOf(key));
            const response = cached === undefined ? rejections.find(keyOf(key)) : responseOf(cached);
            if (response === undefined) return;
            count(response);
            responses.set(key, response);
          });
        }
        return responses;
      },
      async keep(responses, { interrupted }) {
        if (perPage && !interrupted) return;
        await store.write(scope, [...responses].flatMap(valueOf));
        for (const [key, response] of responses) rejections.note(keyOf(key), response);
      },
    };
  };
}

/** Keys that the API refused permanently, so that not every page requests them; temporary failures are not kept. */
function createRejections() {
  const refused = new Map<string, KeyResponse>();
  return {
    find: (key: string): KeyResponse | undefined => refused.get(key),
    note(key: string, response: KeyResponse): void {
      const isFinal = response.kind === 'failed' && response.error.code !== 'source_unavailable';
      if (isFinal && refused.size < refusedMax) refused.set(key, response);
    },
  };
}

/** The seconds for which found and missing keys are cached; null: as long as the run. */
function ttlsOf({
  scope,
  ttlSeconds,
  negativeTtlSeconds,
}: Enrichment['cache']): Record<'found' | 'missing', number | null> {
  if (scope !== 'connection') return { found: ttlSeconds ?? null, missing: negativeTtlSeconds ?? ttlSeconds ?? null };
  const found = ttlSeconds ?? sharedTtlSeconds;
  return { found, missing: negativeTtlSeconds ?? Math.min(found, sharedNegativeTtlSeconds) };
}
