/**
 * Contract of a destination: a batch of a lane is applied once, with its receipt, and an attempt that a newer one has replaced
 * applies nothing more. `open` claims the lane first; `prepare` and `apply` follow for each batch in order. A destination never
 * reads the control database.
 */

import type { Batch, RejectedRow } from '../model/batch.ts';
import type { HeldMemory } from '../model/response-memory.ts';
import type { ColumnType } from '../spec/schema/column-type.ts';
import type { Target } from '../spec/schema/destination-schema.ts';

/** `type` is the ConnectorSpec's word, mapped to SQL by each kind. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
}

/**
 * `upsert`: one row per record. `append`: one row per version. `update`: only the given columns of rows that exist. `replace`: as
 * upsert, and a complete read takes the place of the rows before it.
 */
export type WriteMode = Target['mode'];

export interface TargetTable {
  /** `null` for the destination's own default. */
  readonly schema: string | null;
  /**
   * Schema of the table before each org had its own; a table found there stays in use. `null` for the destination's own default,
   * absent if the schema never changed.
   */
  readonly formerSchema?: string | null;
  readonly table: string;
  /** Columns known from `target.columns` and `validate.schema`; fields beyond them are added as they appear. */
  readonly columns: readonly Column[];
  /** `add_columns`: a field without a column gets one; `none`: it is dropped. */
  readonly evolve: 'add_columns' | 'none';
  readonly mode: WriteMode;
}

/**
 * Columns that the batches of a lane have ever filled, kept in the control database. They depend neither on the values of a batch
 * nor on the customer's catalogue.
 */
export interface WrittenColumns {
  /** `null` if none were noted yet, as for a lane written by an earlier version of the service. */
  find(): Promise<readonly string[] | null>;
  /** Called before the first batch that fills the columns. Throws `fenced` when a later attempt holds the lane. */
  add(names: readonly string[]): Promise<void>;
}

export interface LaneClaim {
  /** `{connectionId}/{resourceKey}`: key of the checkpoint row. */
  readonly lane: string;
  /** Greater than that of every earlier attempt on this lane; a smaller one at the destination loses. */
  readonly fence: number;
  /**
   * Names the state of the lane in the control database; it changes whenever that state is forgotten. State of another generation
   * at the destination is ignored.
   */
  readonly generation: string;
  readonly connectionId: string;
  readonly target: TargetTable;
  readonly written: WrittenColumns;
  /** Room for a large receipt, taken before it is read. Throws `ThrottledError` while others hold the memory. */
  readonly held: HeldMemory;
}

export interface LeftoverPage {
  /** The last id of the previous page; `null` for the first page. */
  readonly after: string | null;
  readonly limit: number;
}

export interface LastBatch {
  readonly runId: string;
  readonly batchNo: number;
}

export interface Checkpoint extends LastBatch {
  readonly receipt: string;
}

/**
 * `fresh`: the table cannot hold anything that this generation of the lane has delivered. The lane was never claimed here, or for
 * another generation, or the table is not the one that the last claim found. In mode replace also: nothing of the run's
 * generation has been gathered.
 *
 * `fresh` stays true for later attempts until a batch is applied, even one without rows, so an attempt that dies early passes it
 * on. A table that is replaced after `open` is noticed by the next `open`. Rows that the customer removes from a table that stays
 * (delete, truncate, an older backup) are not noticed.
 */
export type OpenedLane =
  | { readonly fresh: true; readonly checkpoint: null }
  | {
      readonly fresh: false;
      readonly checkpoint: Checkpoint;
      /** Receipt of a batch that an earlier run left behind and that was acknowledged in this run. */
      readonly carried?: string;
    };

/**
 * A batch is applied once or not at all, and the service knows which. A destination without transactions guarantees less:
 * requests in flight when an attempt dies arrive a second time with the same ids.
 *
 * Every method throws {@link AppError}:
 * - `destination_unavailable`: not reachable; retried.
 * - `destination_rejected`: it refuses the request; not retried.
 * - `destination_login`: it refuses the credentials; not retried.
 * - `destination_gone`: no longer exists; not retried.
 * - `fenced`: a later attempt holds the lane.
 * - `egress_blocked`.
 *
 * A destination that needs a pause throws `ThrottledError`; the next `open` finds the lane where it was.
 */
export interface Destination extends AsyncDisposable {
  /** Tests the destination and existing tables without changing or sending anything. Returns a sentence that says what works. */
  check(targets: readonly TargetTable[]): Promise<string>;
  /**
   * Creates or evolves the table and claims the lane. The attempt that holds the lane may claim it again for another generation.
   */
  open(claim: LaneClaim): Promise<OpenedLane>;
  /**
   * Reads the checkpoint row of a lane without claiming it; `null` without a row or an applied batch, and for a webhook. Absent
   * if the kind cannot tell.
   */
  peek?(lane: Pick<LaneClaim, 'lane' | 'target'>): Promise<LastBatch | null>;
  /**
   * External ids of the connection's rows in the table of the claimed lane, except rows marked as deleted. At most `limit` ids
   * after `after`, in an order of the destination, whichever lane delivered them. Absent if the kind cannot list them.
   */
  leftovers?(page: LeftoverPage): Promise<readonly string[]>;
  /**
   * Does the part of `apply` that needs no server, while the previous batch is still in progress. Never throws, and `apply` need
   * not follow.
   */
  prepare(batch: Batch): void;
  /** Writes rows and receipt in one transaction. Returns the rows refused when the rest was applied. */
  apply(batch: Batch): Promise<readonly RejectedRow[]>;
}
