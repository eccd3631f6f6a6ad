import { LRUCache } from 'lru-cache';

/** How much a cache keeps. */
interface TextCacheOptions {
  /** Texts kept. */
  readonly textsMax: number;
  /** Characters of all texts together; a longer text is never kept. */
  readonly charactersMax: number;
}

/**
 * `make`, which is called again only for texts that were not used lately. For texts of customers, who can think of any
 * number of them. What `make` throws is not kept.
 */
export function createTextCache<Made>(
  make: (text: string) => Made,
  { textsMax, charactersMax }: TextCacheOptions,
): (text: string) => Made {
  const cache = new LRUCache<string, { readonly made: Made }>({
    max: textsMax,
    maxSize: charactersMax,
    // The empty text has a size too: the library wants more than zero.
    sizeCalculation: (_made, { length }) => Math.max(1, length),
  });
  return (text) => {
    const known = cache.get(text);
    if (known !== undefined) return known.made;
    const made = make(text);
    cache.set(text, { made });
    return made;
  };
}
