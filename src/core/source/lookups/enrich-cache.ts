import type { PageCache } from './enrich-page-cache.ts';
import type { CountValues, KeyResponse, KeyResponses } from './enrich-response.ts';

/** Resolves the keys of one step from the cache, from a request of another page in progress, or from the API. */
export interface ResponseMemo {
  /** Caches fetched responses even if a later request fails, then throws what `fetch` threw. */
  responsesTo(texts: readonly string[], pageCache: PageCache, work: CacheWork): Promise<KeyResponses>;
}

interface CacheWork {
  /** Counts each response, except those of `fetch`, which counts its own. */
  readonly count: CountValues;
  readonly onSaved: (texts: readonly string[]) => Promise<void>;
  /** Requests the other keys and adds results to `found` as they arrive. */
  readonly fetch: (texts: readonly string[], found: Map<string, KeyResponse>) => Promise<void>;
}

export function createResponseMemo(): ResponseMemo {
  const inProgress = new Map<string, Promise<KeyResponses>>();
  return {
    async responsesTo(texts, pageCache, work) {
      const others = texts.flatMap((text) => {
        const looking = inProgress.get(pageCache.keyOf(text));
        return looking ? [{ text, looking }] : [];
      });
      const own = texts.filter((text) => !inProgress.has(pageCache.keyOf(text)));
      const looking = lookUp(own, pageCache, work);
      for (const text of own) inProgress.set(pageCache.keyOf(text), looking);
      try {
        const responses = new Map(await looking);
        await work.onSaved(others.map(({ text }) => text));
        for (const other of others) {
          const response = (await other.looking).get(other.text);
          if (!response) continue;
          work.count(response);
          responses.set(other.text, response);
        }
        return responses;
      } finally {
        for (const text of own) inProgress.delete(pageCache.keyOf(text));
      }
    },
  };
}

async function lookUp(
  texts: readonly string[],
  pageCache: PageCache,
  { count, onSaved, fetch }: CacheWork,
): Promise<KeyResponses> {
  if (texts.length === 0) return new Map();
  const kept = await pageCache.read(texts, count);
  await onSaved([...kept.keys()]);
  const missing = texts.filter((text) => !kept.has(text));
  const found = new Map<string, KeyResponse>();
  try {
    await fetch(missing, found);
  } catch (error) {
    await pageCache.keep(found, { interrupted: true });
    throw error;
  }
  await pageCache.keep(found, { interrupted: false });
  return new Map([...kept, ...found]);
}
