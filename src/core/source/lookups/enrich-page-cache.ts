import type { Enrichment } from '../../spec/schema/lookup-schema.ts';
import { mapWithPauses } from '../../work/map-with-pauses.ts';
import type { Source } from '../source.ts';
import { type CountValues, cachedText, type KeyResponse, type KeyResponses, responseOf } from './enrich-response.ts';
import { definitionKey, valueKey } from './lookup-key.ts';
import type { CacheScope, LookupStore, NewCachedValue } from './lookup-store.ts';
import { tableDigest } from './table-room.ts';

export interface PageCache {
  /** Equal for pages that may share the response. */
  keyOf(text: string): string;
  read(texts: readonly string[], count: CountValues): Promise<Map<string, KeyResponse>>;
  /** `interrupted` if the page will be processed again. */
  keep(responses: KeyResponses, options: { readonly interrupted: boolean }): Promise<void>;
}

/** `identity` recognizes a page that is processed again. */
export interface ShelvedPage {
  readonly each: Source['each'];
  readonly identity: string;
}

const sharedTtlSeconds = 3600;
const sharedNegativeTtlSeconds = 300;
/** Per statement, as each value may have 1 MB. */
const keysAtOnce = 100;
const refusedMax = 10_000;

/**
 * Without a cache, the responses of a step are kept per page and used only if processing was interrupted. Otherwise an
 * API that demands long waits would get the same requests forever.
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

/** Remembers permanent refusals, so that not every page requests their keys. */
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

/** In seconds, or `null` to last as long as the run. */
function ttlsOf({
  scope,
  ttlSeconds,
  negativeTtlSeconds,
}: Enrichment['cache']): Record<'found' | 'missing', number | null> {
  if (scope !== 'connection') return { found: ttlSeconds ?? null, missing: negativeTtlSeconds ?? ttlSeconds ?? null };
  const found = ttlSeconds ?? sharedTtlSeconds;
  return { found, missing: negativeTtlSeconds ?? Math.min(found, sharedNegativeTtlSeconds) };
}
