import { AppError } from '../../errors.ts';
import type { Batch, RejectedRow } from '../../model/batch.ts';
import { fenced, notTaken } from '../sql/lane-errors.ts';
import { receiptLengthMax } from './driver/messages.ts';
import type { Session } from './driver/session.ts';
import { blamesRow, lostRace, rowIssue, wholeRefused } from './errors.ts';
import type { SqlServerFields } from './fields.ts';
import { rowsTable, type SqlServerRows, stageMissing, stageRows } from './staging.ts';
import { withConflictRetries } from './transaction.ts';
import { type BatchSteps, batchSql, heldSql } from './write-sql.ts';

/** The rows of a batch as the server takes them. */
export interface SqlServerBatch {
  readonly encoded: SqlServerRows;
  /** Rows refused before the server saw them. */
  readonly rejected: readonly RejectedRow[];
}

/** A batch on its way into the table of a lane. */
export interface BatchWrite extends SqlServerBatch {
  readonly lane: string;
  readonly fence: number;
  readonly connectionId: string;
  readonly map: SqlServerFields;
  readonly batch: Batch;
  /** Mode replace: the first batch of its run, so that what an earlier run gathered is thrown away. */
  readonly opensGeneration: boolean;
}

/**
 * Rows are staged, then rows, tombstones and receipt go into one transaction, all its statements in one request. An
 * error rolls it back as a whole (XACT_ABORT, which also dooms what a savepoint would have kept), so the rows to blame
 * are found by trials of their own that are always rolled back; at last the rest is written once more.
 *
 * Returns all rows refused. Throws `fenced`, or raw errors of tedious.
 */
export async function writeBatch(session: Session, write: BatchWrite): Promise<readonly RejectedRow[]> {
  const { batch, encoded, rejected } = write;
  if (encoded.indexes.length > 0) await stageRows(session, encoded);
  if (batch.tombstones.length > 0) await stageMissing(session, batch.tombstones);
  try {
    await commit(session, { write, rejected });
    return rejected;
  } catch (error) {
    if (!blamesRow(error)) throw error;
    const blamed = await findBlamed(session, { write, from: 0, to: encoded.indexes.length });
    const all = [...rejected, ...blamed];
    if (blamed.length === 0) throw wholeRefused(error, rejection(batch));
    await commit(session, { write, rejected: all }).catch((again: unknown) => {
      throw wholeRefused(again, rejection(batch));
    });
    return all;
  }
}

const rejection = ({ completesGeneration }: Batch): string =>
  completesGeneration ? 'The table does not let its rows be replaced' : 'The table keeps rows of records that are gone';

interface Commit {
  readonly write: BatchWrite;
  readonly rejected: readonly RejectedRow[];
}

async function commit(session: Session, { write, rejected }: Commit): Promise<void> {
  const receipt = write.batch.receipt(rejected);
  if (receipt.length > receiptLengthMax) throw receiptTooLong();
  await runBatch(session, { write, end: 'commit', values: { receipt } });
}

const receiptTooLong = (): AppError =>
  new AppError(
    'destination_rejected',
    `The records that were refused are more than ${receiptLengthMax} characters in one batch: ask for smaller pages, or correct what is refused.`,
  );

interface Range {
  readonly write: BatchWrite;
  /** The rows before it are decided, and those that are not refused pass together. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** The rows between that the server refuses, each tried behind all those that it takes. */
async function findBlamed(session: Session, { write, from, to }: Range): Promise<readonly RejectedRow[]> {
  if (from === to) return [];
  try {
    await runBatch(session, { write, end: 'trial', values: { receipt: '', upto: to } });
    return [];
  } catch (error) {
    if (!blamesRow(error)) throw error;
    if (to - from > 1) {
      const middle = (from + to) >> 1;
      const first = await findBlamed(session, { write, from, to: middle });
      return [...first, ...(await findBlamed(session, { write, from: middle, to }))];
    }
    await session.query(`update ${rowsTable} set is_out = 1 where n = @n;`, { n: from });
    const { encoded, batch } = write;
    const index = encoded.indexes[from] ?? 0;
    return [{ index, externalId: batch.rows[index]?.externalId ?? '', message: rowIssue(error) }];
  }
}

interface BatchRun {
  readonly write: BatchWrite;
  readonly end: BatchSteps['end'];
  readonly values: { readonly receipt: string; readonly upto?: number };
}

async function runBatch(session: Session, { write, end, values }: BatchRun): Promise<void> {
  const { lane, fence, connectionId, map, batch, encoded, opensGeneration } = write;
  const { prepared } = map;
  const completesGeneration = prepared.mode === 'replace' && batch.completesGeneration;
  const rows = encoded.indexes.length > 0 ? { writers: encoded.writers } : null;
  const buries = batch.tombstones.length > 0;
  const sql = batchSql({ prepared, rows, buries, opensGeneration, completesGeneration, end });
  const held = { lane, fence: String(fence), run: batch.runId, batch: batch.batchNo };
  // Statements over all rows of a connection may take their time.
  const isLong = opensGeneration || completesGeneration;
  await withConflictRetries(session, async () => {
    const parameters = { ...held, connection: connectionId, ...values };
    const [response] = await (isLong
      ? session.queryAll<Reply>(sql, parameters)
      : session.query<Reply>(sql, parameters));
    if (response?.outcome === 'written') return;
    if (response?.outcome === 'race') throw lostRace();
    throw await lostLane(session, { schema: prepared.schema, held });
  });
}

interface Reply {
  readonly outcome: 'written' | 'lost' | 'race';
}

interface Held {
  readonly lane: string;
  readonly fence: string;
  readonly run: string;
  readonly batch: number;
}

async function lostLane(
  session: Session,
  { schema, held }: { readonly schema: string; readonly held: Held },
): Promise<AppError> {
  const [row] = await session.query<{ readonly isApplied: number }>(heldSql(schema), { ...held });
  return row ? notTaken(held.batch, row.isApplied === 1) : fenced();
}
