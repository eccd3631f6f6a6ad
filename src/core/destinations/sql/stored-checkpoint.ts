import * as v from 'valibot';
import { checkpointChanged, takenOver } from '../../errors.ts';
import type { LastBatch, OpenedLane } from '../destination.ts';

/** Whole numbers of an `int` column. */
const BatchNo = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2 ** 31 - 1));
const LastBatchRow = v.object({ runId: v.nullable(v.string()), batchNo: v.nullable(BatchNo) });
/** All `null` if no batch was applied at the lane's table yet. */
const CheckpointRow = v.object({ ...LastBatchRow.entries, receipt: v.nullable(v.string()) });

export type StoredCheckpoint = v.InferOutput<typeof CheckpointRow>;

/** A row as the customer's server sends it. */
type Unchecked<Row> = { readonly [Column in keyof Row]?: unknown };

/** Throws `fenced` without a row: a later attempt holds the lane. Throws `destination_rejected` for a row that was changed. */
export function openedLane(row: Unchecked<StoredCheckpoint> | undefined): OpenedLane {
  if (!row) throw takenOver();
  const { runId, batchNo, receipt } = checked(CheckpointRow, row);
  if (runId === null || batchNo === null || receipt === null) return { fresh: true, checkpoint: null };
  return { fresh: false, checkpoint: { runId, batchNo, receipt } };
}

/** `null` if no batch was applied. Throws `destination_rejected` for a row that was changed. */
export function lastBatch(row: Unchecked<v.InferOutput<typeof LastBatchRow>>): LastBatch | null {
  const { runId, batchNo } = checked(LastBatchRow, row);
  return runId === null || batchNo === null ? null : { runId, batchNo };
}

/** A batch number that a server sends as text; NaN for any other text. */
export function storedNumber(text: string | null | undefined): number | null {
  if (text == null) return null;
  return /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
}

function checked<Row>(schema: v.GenericSchema<unknown, Row>, row: unknown): Row {
  const result = v.safeParse(schema, row);
  if (!result.success) throw checkpointChanged(null);
  return result.output;
}
