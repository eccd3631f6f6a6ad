import type { HttpRequest, HttpResponse } from '../../model/http.ts';
import { type KeptPage, type PageCacheEntry, type ResponseCache, type Sent, unkept } from './response-cache.ts';
import { fromRest, type StoredResponse, toRest } from './stored-response.ts';

/** Responses of a read by their keys, stored under the key of the first one. */
type Pages = Readonly<Record<string, StoredResponse>>;

/** Larger reads are requested each time. */
const pagesLengthMax = 8_000_000;

/**
 * A record that moves between pages of different age would be in neither, so the pages of a read are cached together or
 * not at all.
 */
export function createTimedResponses({ client, store, keyOf }: PageCacheEntry, ttlSeconds: number): ResponseCache {
  const write = async (firstKey: string, pages: Pages): Promise<void> => {
    const text = JSON.stringify(pages);
    if (ttlSeconds === 0 || text.length > pagesLengthMax) return;
    await store.write('connection', [{ key: firstKey, text, ttlSeconds, isOpaque: true }]);
  };
  const find = async (key: string): Promise<Pages> => {
    const text = (await store.read('connection', [key])).get(key) ?? null;
    return text === null ? {} : JSON.parse(text);
  };
  const fresh = (read: TimedRead, key: string, response: HttpResponse): Sent => ({
    response,
    async keep({ isLast }) {
      read.collect(key, toRest(response));
      const pages = read.collected();
      if (isLast && pages) await write(read.firstKey, pages);
    },
  });
  let current: TimedRead | null = null;
  /** `null` if another process began the read. */
  const readOf = async (key: string, page: KeptPage | undefined): Promise<TimedRead | null> => {
    if (page && !page.isFirst) return current;
    const read = createTimedRead(key, page?.isRestarted ? {} : await find(key));
    if (page) current = read;
    return read;
  };
  return {
    async send(request: HttpRequest, options, page) {
      const key = keyOf(request);
      const read = await readOf(key, page);
      const kept = read?.kept[key];
      if (!kept)
        return read
          ? fresh(read, key, await client.send(request, options))
          : unkept(await client.send(request, options));
      await client.logSaved(request);
      return unkept(fromRest(kept, request));
    },
  };
}

interface TimedRead {
  readonly firstKey: string;
  readonly kept: Pages;
  collect(key: string, response: StoredResponse | null): void;
  /** `null` if one of the pages cannot be cached. */
  collected(): Pages | null;
}

function createTimedRead(firstKey: string, kept: Pages): TimedRead {
  const pages: Record<string, StoredResponse> = {};
  let length = 0;
  // Pages of another age do not belong to it.
  let isWhole = Object.keys(kept).length === 0;
  return {
    firstKey,
    kept,
    collect(key, response) {
      length += response?.body.length ?? 0;
      isWhole &&= response !== null && length <= pagesLengthMax;
      if (response && isWhole) pages[key] = response;
    },
    collected: () => (isWhole ? pages : null),
  };
}
