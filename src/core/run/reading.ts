import type { RunPosition } from '../model/run-position.ts';
import type { LookupStore } from '../source/lookups/lookup-store.ts';
import type { ReadOptions } from '../source/read/read-pages.ts';
import type { Source } from '../source/source.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import type { RunPage } from './run-page.ts';
import type { RunStore } from './run-store.ts';

/** A resource, ready to be read; each partition adds its watermark. */
export interface OpenResource {
  readonly resource: Resource;
  readonly source: Omit<Source, 'watermark'>;
}

/** Dependencies of listing partitions. */
export interface Listing extends OpenResource {
  readonly store: RunStore;
  /** Throws `spec_invalid` if it does not exist. */
  findResource(resourceKey: string): Resource;
  openParent(resourceKey: string): Promise<OpenResource>;
}

/** A run, ready to be read. */
export interface RunReading extends Listing {
  readonly resource: Resource;
  readonly source: Omit<Source, 'watermark'>;
  readonly store: RunStore;
  /** Stores responses to requests other than the read itself. */
  readonly lookupStore: LookupStore;
  readonly force: boolean;
  /** Digest of a partition's values that shape its records or requests, or `null` if none do. */
  readonly shapeOf: (each: Partition['each']) => string | null;
}

/** Options for reading a run. */
export interface RunReadOptions extends Omit<ReadOptions, 'position'> {
  /** Resolves when every page yielded so far is delivered and recorded. */
  readonly delivered: () => Promise<void>;
  /** Waits between polls of a report job; without it, the read ends with a {@link ThrottledError} and continues later. */
  readonly wait?: (ms: number) => Promise<void>;
}

/** The pages of a stage; returns the position after it, `null` at the end of the run, `undefined` when told to stop. */
export type Stage = AsyncGenerator<RunPage, RunPosition | null | undefined, undefined>;

/** A partition of the run. */
export interface Partition {
  /** Empty without `forEach`. */
  readonly key: string;
  readonly each: Readonly<Record<string, unknown>>;
}
