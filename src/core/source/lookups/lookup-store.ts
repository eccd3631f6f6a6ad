/** Who shares what was looked up: the chunks of one run, or all runs of the connection. Connections never share. */
export type CacheScope = 'run' | 'connection';

/** A value to keep. */
export interface NewCachedValue {
  readonly key: string;
  /** JSON text; null: the API has no such thing. */
  readonly text: string | null;
  /** Null: for as long as the run lasts. */
  readonly ttlSeconds: number | null;
}

/** Where values that were looked up are kept, so that a later chunk, another worker or the next run need not ask again. */
export interface LookupStore {
  /** The texts that are kept under the given keys and have not expired. */
  read(scope: CacheScope, keys: readonly string[]): Promise<ReadonlyMap<string, string | null>>;
  /** Keeps values in place of those under the same keys. */
  write(scope: CacheScope, values: readonly NewCachedValue[]): Promise<void>;
}
