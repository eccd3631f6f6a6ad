/**
 * The control database as the simulation has it: the tables of runs and what they need, for one org. Rows have the
 * columns of the real tables, so a new column does not compile until the memory store knows it. Transactions come one
 * after the other, where PostgreSQL orders them by the locks of org, connection and lane.
 *
 * Left out, because the simulation needs none of it: schedules and firings, limits of queued runs, events and endpoints,
 * retention, deletion of connections, and the org limits that an operator has changed.
 */
import type { Selectable } from 'kysely';
import type { Database } from '../../../../db/schema.ts';
import { type IdPrefix, idPattern } from '../../../../src/core/ids.ts';
import { Table, type Undo } from './table.ts';

/** A row of `runs`. */
export type StoredRun = Omit<Selectable<Database['runs']>, 'triggerClass'> & {
  /** The order in which runs ended: several may end in one millisecond. Null: it has not ended. */
  readonly endedNo: number | null;
};
/** A row of `lanes`. */
export type StoredLane = Omit<Selectable<Database['lanes']>, 'overdueSince'>;
/** A row of `partitions`. */
export type StoredPartitionRow = Selectable<Database['partitions']>;
/** A row of `record_state`; the hash is base64url. */
export type StoredRecord = Omit<Selectable<Database['recordState']>, 'hash'> & { readonly hash: string };
/** A row of `listed_deletions`. */
export type StoredListing = Selectable<Database['listedDeletions']>;
/** A row of `quarantine`. */
export type StoredQuarantine = Selectable<Database['quarantine']>;
/** A row of `connections`. */
export type StoredConnection = Selectable<Database['connections']>;
/** A row of `spec_versions`. */
export type StoredSpecVersion = Selectable<Database['specVersions']>;

/** A row of `outboxes`. */
export type StoredOutbox = Selectable<Database['outboxes']>;

/** Names a row by the values of its primary key. */
export const keyOf = (...parts: readonly (string | number)[]): string => JSON.stringify(parts);

/** All tables. Only {@link ControlState.atomically} may change them. */
export class ControlState {
  readonly #journal: Undo[] = [];
  readonly #clock: () => number;
  #lastNo = 0;

  readonly connections = this.#table<StoredConnection>('connections', ({ id }) => id);
  readonly specVersions = this.#table<StoredSpecVersion>('spec_versions', ({ specId, version }) =>
    keyOf(specId, version),
  );
  readonly lanes = this.#table<StoredLane>('lanes', ({ id }) => String(id));
  readonly runs = this.#table<StoredRun>('runs', ({ id }) => id);
  readonly partitions = this.#table<StoredPartitionRow>('partitions', ({ laneId, partition }) =>
    keyOf(laneId, partition),
  );
  readonly records = this.#table<StoredRecord>('record_state', ({ laneId, externalId }) => keyOf(laneId, externalId));
  readonly places = this.#table<Selectable<Database['recordPartitions']>>(
    'record_partitions',
    ({ laneId, externalId, partition }) => keyOf(laneId, externalId, partition),
  );
  readonly listed = this.#table<StoredListing>('listed_deletions', ({ laneId, externalId, partition }) =>
    keyOf(laneId, externalId, partition),
  );
  readonly quarantine = this.#table<StoredQuarantine>('quarantine', ({ id }) => id);
  readonly pages = this.#table<Selectable<Database['runPages']>>('run_pages', ({ runId, pageNo }) =>
    keyOf(runId, pageNo),
  );
  readonly dimensions = this.#table<Selectable<Database['runDimensions']>>(
    'run_dimensions',
    ({ runId, dimension, no }) => keyOf(runId, dimension, no),
  );
  readonly calls = this.#table<Selectable<Database['callLog']>>('call_log', ({ id }) => id);
  readonly lookups = this.#table<Selectable<Database['lookupCache']>>('lookup_cache', ({ connectionId, runId, key }) =>
    keyOf(connectionId, runId, key),
  );
  readonly writtenColumns = this.#table<Selectable<Database['writtenColumns']>>(
    'written_columns',
    ({ laneId, target }) => keyOf(laneId, target),
  );

  readonly outboxes = this.#table<StoredOutbox>('outboxes', ({ laneId }) => String(laneId));
  readonly outboxParts = this.#table<Selectable<Database['outboxParts']>>('outbox_parts', ({ laneId, again, path }) =>
    keyOf(laneId, String(again), path),
  );

  /** @param clock milliseconds since the epoch. It must not move during a transaction. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  #table<Row extends object>(name: string, key: (row: Row) => string): Table<Row> {
    return new Table(name, key, this.#journal);
  }

  /** One transaction: when `work` throws, nothing of it stays. */
  atomically<Result>(work: (state: ControlState) => Result): Result {
    this.#journal.length = 0;
    try {
      return work(this);
    } catch (error) {
      for (const undo of this.#journal.toReversed()) undo();
      throw error;
    }
  }

  /** The clock, ms since the epoch. */
  nowMs(): number {
    return this.#clock();
  }

  /** The clock, ISO. */
  now(): string {
    return new Date(this.#clock()).toISOString();
  }

  /** ISO of an instant so many milliseconds ago. */
  ago(ms: number): string {
    return new Date(this.#clock() - ms).toISOString();
  }

  /** A number larger than every one before. As with a sequence of PostgreSQL, one of a failed transaction is lost. */
  nextNo(): number {
    this.#lastNo += 1;
    return this.#lastNo;
  }

  /** A name that no generation of a lane has yet. */
  newGeneration(): string {
    return `generation ${this.nextNo()}`;
  }

  /** An id of the form of {@link idPattern} that sorts by creation. */
  newId(prefix: IdPrefix): string {
    const id = `${prefix}_${String(this.nextNo()).padStart(26, '0')}`;
    if (!idPattern(prefix).test(id)) throw new Error(`${id} has not the form of an id`);
    return id;
  }
}
