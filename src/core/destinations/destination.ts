/**
 * What every kind of destination promises: a batch of a lane is applied once, with its receipt, and an attempt that a newer
 * one has replaced applies nothing more. First `open` claims the lane, then `prepare` and `apply` follow for each batch in
 * its order. A destination never reads the control database.
 */

import type { Batch, RejectedRow } from '../model/batch.ts';
import type { ColumnType } from '../spec/schema/column-type.ts';
import type { Target } from '../spec/schema/destination-schema.ts';

/** One column of a destination table. `type` is the ConnectorSpec's word, mapped to SQL by each kind. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
}

/**
 * How rows are written. `upsert`: one row per record. `append`: one row per version. `update`: only the given columns
 * of rows that exist. `replace`: as upsert, and a complete read takes the place of the rows before it.
 */
export type WriteMode = Target['mode'];

/** Where the rows of one resource go. */
export interface TargetTable {
  /** The schema of the table; null: the destination's own default. */
  readonly schema: string | null;
  /**
   * Where the table was before each org had a schema of its own; one that stands there stays in use. Null: the destination's
   * own default. Absent: there was no other.
   */
  readonly formerSchema?: string | null;
  readonly table: string;
  /** The columns known from `target.columns` and `validate.schema`; fields beyond them are added as they appear. */
  readonly columns: readonly Column[];
  /** `add_columns`: a field without a column gets one; `none`: it is dropped. */
  readonly evolve: 'add_columns' | 'none';
  readonly mode: WriteMode;
}

/**
 * The columns that the batches of a lane have ever filled, kept in the control database: which columns are written
 * depends neither on the values of a batch nor on what stands in the customer's catalogue.
 */
export interface WrittenColumns {
  /** Their names; null: none were noted yet, as of a lane that a version before this has written. */
  find(): Promise<readonly string[] | null>;
  /** Notes more of them, before the first batch that fills them. Throws `fenced` when a later attempt holds the lane. */
  add(names: readonly string[]): Promise<void>;
}

/** The claim of {@link Destination.open}: the lane of one connection and resource. */
export interface LaneClaim {
  /** `{connectionId}/{resourceKey}`: key of the checkpoint row. */
  readonly lane: string;
  /** Greater than that of every earlier attempt on this lane; a smaller one at the destination loses. */
  readonly fence: number;
  /**
   * Names the state of the lane in the control database; it is another one whenever that is forgotten. What a destination
   * holds of another generation counts for nothing.
   */
  readonly generation: string;
  readonly connectionId: string;
  readonly target: TargetTable;
  readonly written: WrittenColumns;
}

/** A page of the ids of rows. */
export interface LeftoverPage {
  /** The last id of the page before; null: the first page. */
  readonly after: string | null;
  readonly limit: number;
}

/** The last batch that was applied for a lane. */
export interface LastBatch {
  readonly runId: string;
  readonly batchNo: number;
}

/** The content of the checkpoint row when the lane was claimed. */
export interface Checkpoint extends LastBatch {
  readonly receipt: string;
}

/**
 * The result of {@link Destination.open}.
 *
 * `fresh`: nothing that this generation of the lane has delivered can be in its table. Either the lane was never claimed
 * here, or for another generation, or its table is not the one that the last claim found: dropped and made again (by
 * whomever), or another target. It stays
 * true for whoever opens the lane next until a batch is applied, even one without rows; so an attempt that dies
 * before it could act on it hands it on. A table that is replaced after `open` is noticed by the next `open`. Rows
 * that the customer removes from a table that stays (delete, truncate, an older backup) are not noticed. In mode
 * replace it also means that nothing of the run's generation has been gathered.
 */
export type OpenedLane =
  | { readonly fresh: true; readonly checkpoint: null }
  | {
      readonly fresh: false;
      readonly checkpoint: Checkpoint;
      /** Receipt of a batch that an earlier run left behind and that was acknowledged in this run; absent: none. */
      readonly carried?: string;
    };

/**
 * A promise: a batch is applied once, or not at all, and the service knows which. A destination without transactions
 * promises less: what was in flight when an attempt died arrives a second time with the same ids.
 *
 * Every method throws {@link AppError}: `destination_unavailable` (not reachable; retried), `destination_rejected` (it
 * refuses what we ask; not retried), `destination_login` (it refuses our credentials; not retried), `destination_gone`
 * (no longer exists; not retried), `fenced` (a later attempt holds the lane), `egress_blocked`. A destination that
 * needs a pause throws `ThrottledError`; the next `open` finds the lane where it was.
 */
export interface Destination extends AsyncDisposable {
  /**
   * Tests the destination, and those of the tables that are there, without changing or sending anything. Returns what works,
   * as a sentence. Throws as `open` does.
   */
  check(targets: readonly TargetTable[]): Promise<string>;
  /**
   * Creates or evolves what is missing, claims the lane, returns what is known of it. The attempt that holds the lane may
   * claim it again for another generation.
   */
  open(claim: LaneClaim): Promise<OpenedLane>;
  /**
   * What the checkpoint row of a lane holds, without claiming it or changing anything; null: there is none, no batch was
   * applied, or the kind keeps its checkpoint in the control database (webhook). Absent: a kind that cannot
   * say so.
   */
  peek?(lane: Pick<LaneClaim, 'lane' | 'target'>): Promise<LastBatch | null>;
  /**
   * External ids of the connection's rows in the table of the lane that `open` has claimed, without those that are
   * marked as deleted. At most `limit` ids, in an order of the destination, behind `after`. Which lane delivered them
   * is not known. Absent: the kind cannot list them.
   */
  leftovers?(page: LeftoverPage): Promise<readonly string[]>;
  /**
   * Does what it can of `apply` without the server, while the previous batch is still in progress. Optional, and never
   * throws: without it `apply` does the same work; `apply` need not follow.
   */
  prepare(batch: Batch): void;
  /** Rows and receipt in one transaction. Returns the rows refused when the rest was applied. */
  apply(batch: Batch): Promise<readonly RejectedRow[]>;
}
