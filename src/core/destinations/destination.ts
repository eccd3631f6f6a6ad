import type { Deliverable } from '../pipeline/page-outcome.ts';

/** One column of a destination table. `type` is the ConnectorSpec's word, mapped to SQL by each kind. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
}

/** The column types of a ConnectorSpec. */
export type ColumnType =
  | { readonly kind: 'text'; readonly maxLength?: number }
  | { readonly kind: 'numeric'; readonly precision: number; readonly scale: number }
  | {
      readonly kind: 'integer' | 'bigint' | 'float' | 'boolean' | 'timestamptz' | 'date' | 'uuid' | 'json';
    };

/** Where the rows of one resource go. */
export interface TargetTable {
  /** Null: the destination's own default schema. */
  readonly schema: string | null;
  readonly table: string;
  /** Known from `target.columns` and `validate.schema`; fields beyond them are added as they appear. */
  readonly columns: readonly Column[];
  /** `add_columns`: a field without a column gets one; `none`: it is dropped. */
  readonly evolve: 'add_columns' | 'none';
}

/** What {@link Destination.open} claims: the lane of one connection and resource. */
export interface LaneClaim {
  /** `{connectionId}/{resourceKey}`: key of the checkpoint row. */
  readonly lane: string;
  /** Greater than that of every earlier attempt on this lane; a smaller one at the destination loses. */
  readonly fence: number;
  readonly connectionId: string;
  readonly target: TargetTable;
}

/** A record that the destination refused, by its own rules (type conflict, constraint). */
export interface RejectedRow {
  readonly externalId: string;
  /** Safe to show: says which column and why, never the value. */
  readonly message: string;
}

/** Rows that are applied once, or not at all. External ids are unique within a batch. */
export interface Batch {
  readonly runId: string;
  /** Position in the run, from 1; the checkpoint row keeps the highest one applied. */
  readonly batchNo: number;
  readonly rows: readonly Deliverable[];
  /** The text committed with the rows: all that the control database still has to record for them. No U+0000. */
  receipt(rejected: readonly RejectedRow[]): string;
}

/** What the checkpoint row held when the lane was claimed. */
export interface Checkpoint {
  readonly runId: string;
  readonly batchNo: number;
  readonly receipt: string;
}

/**
 * What {@link Destination.open} found.
 *
 * `fresh`: nothing that this lane has delivered can be in its table. Either the lane was never claimed here, or its
 * table is not the one that the last claim found: dropped and made again (by whomever), or another target. It stays
 * true for whoever opens the lane next until a batch is applied, even one without rows; so an attempt that dies
 * before it could act on it hands it on. A table that is replaced after `open` is noticed by the next `open`. Rows
 * that the customer removes from a table that stays (delete, truncate, an older backup) are not noticed.
 */
export type OpenedLane =
  | { readonly fresh: true; readonly checkpoint: null }
  | { readonly fresh: false; readonly checkpoint: Checkpoint };

/**
 * A promise: a batch is applied once, or not at all, and the service knows which.
 *
 * Every method throws {@link AppError}: `destination_unavailable` (away; retried), `destination_rejected`
 * (it refuses what we ask; not retried), `fenced` (a later attempt holds the lane), `egress_blocked`.
 */
export interface Destination extends AsyncDisposable {
  /** Creates or evolves what is missing, claims the lane, says what is known of it. */
  open(claim: LaneClaim): Promise<OpenedLane>;
  /** Rows and receipt in one transaction. Returns the rows refused when the rest was applied. */
  apply(batch: Batch): Promise<readonly RejectedRow[]>;
}
