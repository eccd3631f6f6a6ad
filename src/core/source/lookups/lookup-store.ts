/** Who shares what was looked up: the chunks of one run, or all runs of the connection. Connections never share. */
export type CacheScope = 'run' | 'connection';

/** A value to store. */
export interface NewCachedValue {
  readonly key: string;
  /** JSON text; null: the API does not find it. */
  readonly text: string | null;
  /** The seconds for which it is valid; null: as long as the run lasts. */
  readonly ttlSeconds: number | null;
  /** It holds bytes of an API, which may spell a secret in any way. Absent: its text alone tells whether it repeats one. */
  readonly isOpaque?: true;
}

/** Where looked-up values are stored, so that a later chunk, another worker or the next run can reuse them. */
export interface LookupStore {
  /** The texts stored under the given keys that have not expired. */
  read(scope: CacheScope, keys: readonly string[]): Promise<ReadonlyMap<string, string | null>>;
  /** Stores values, replacing those under the same keys. */
  write(scope: CacheScope, values: readonly NewCachedValue[]): Promise<void>;
}
