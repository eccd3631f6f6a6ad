import type { Validators } from '../model/validators.ts';
import { definitionKey } from '../source/lookups/lookup-key.ts';
import type { LookupStore } from '../source/lookups/lookup-store.ts';
import type { Source } from '../source/source.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';

type DeletedList = Extract<Resource['deletes'], { readonly mode: 'endpoint' }>;

/** Remembers when the list of deleted records of a partition was last read to its end. */
export interface RecentListCache {
  /** The validators of the last read, or `null` if the spec's time to live has passed. */
  find(): Promise<Validators | null>;
  note(validators: Validators): Promise<void>;
}

/**
 * The cache of a list with `cache: ttl`; a valid list is skipped, since applying it again would delete a record created
 * again.
 */
export function recentListCache(
  source: Omit<Source, 'watermark'>,
  { request }: DeletedList,
  store: LookupStore,
): RecentListCache | null {
  const { mode, ttlSeconds = 0 } = request.cache;
  if (mode !== 'ttl' || ttlSeconds === 0) return null;
  const key = definitionKey(source, ['deleted list', source.resource.key, source.each, source.specChecksum]);
  return {
    async find() {
      const text = (await store.read('connection', [key])).get(key) ?? null;
      return text === null ? null : JSON.parse(text);
    },
    note: (validators) => store.write('connection', [{ key, text: JSON.stringify(validators), ttlSeconds }]),
  };
}
