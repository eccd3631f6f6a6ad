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

/** What listing needs. */
export interface Listing extends OpenResource {
  readonly store: RunStore;
  /** Throws `spec_invalid` when there is none. */
  findResource(resourceKey: string): Resource;
  /** A parent resource, ready to be read. */
  openParent(resourceKey: string): Promise<OpenResource>;
}

/** A run, ready to be read. */
export interface RunReading extends Listing {
  readonly resource: Resource;
  readonly source: Omit<Source, 'watermark'>;
  readonly store: RunStore;
  /** Where responses to requests other than the read itself are stored. */
  readonly lookupStore: LookupStore;
  /** What the brake holds back is done after all (a forced backfill). */
  readonly force: boolean;
  /** What of the values of a partition shapes its records; null: nothing does. */
  readonly shapeOf: (each: Partition['each']) => string | null;
}

/** How a run is read. */
export interface RunReadOptions extends Omit<ReadOptions, 'position'> {
  /** Resolves when every page given so far is delivered and recorded. */
  readonly delivered: () => Promise<void>;
  /** Waits between two polls of a report job; absent: the read ends with a {@link ThrottledError} and is continued later. */
  readonly wait?: (ms: number) => Promise<void>;
}

/** The pages of a stage; it returns the position after it: null at its end, undefined when it was told to stop. */
export type Stage = AsyncGenerator<RunPage, RunPosition | null | undefined, undefined>;

/** A partition of the run. */
export interface Partition {
  /** Empty without `forEach`. */
  readonly key: string;
  readonly each: Readonly<Record<string, unknown>>;
}
