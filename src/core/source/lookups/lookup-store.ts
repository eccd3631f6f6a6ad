/** Shared by the chunks of one run, or by all runs of the connection; connections never share. */
export type CacheScope = 'run' | 'connection';

export interface NewCachedValue {
  readonly key: string;
  /** JSON text, or `null` if the API does not find it. */
  readonly text: string | null;
  /** `null` lasts as long as the run. */
  readonly ttlSeconds: number | null;
  /** Holds bytes of an API, which may spell a secret in any way; if absent, the text alone tells whether it repeats one. */
  readonly isOpaque?: true;
}

/** Stores looked-up values for later chunks, other workers and the next run. */
export interface LookupStore {
  /** Omits expired texts. */
  read(scope: CacheScope, keys: readonly string[]): Promise<ReadonlyMap<string, string | null>>;
  write(scope: CacheScope, values: readonly NewCachedValue[]): Promise<void>;
}
