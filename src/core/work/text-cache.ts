import { LRUCache } from 'lru-cache';

interface TextCacheOptions {
  readonly textsMax: number;
  /** All texts together; a longer text is never kept. */
  readonly charactersMax: number;
}

/** Caches `make` for recently used texts of customers, who can supply any number of them; thrown errors are not cached. */
export function createTextCache<Made>(
  make: (text: string) => Made,
  { textsMax, charactersMax }: TextCacheOptions,
): (text: string) => Made {
  const cache = new LRUCache<string, { readonly made: Made }>({
    max: textsMax,
    maxSize: charactersMax,
    // The empty text has a size too: the library requires more than zero.
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
