import { AppError } from '../../errors.ts';
import type { Batch, RejectedRow } from '../../model/batch.ts';
import { type BatchWrite, checkOutcome, claimValues, untouched, type WriteOutcome } from './batch-write.ts';
import { receiptLengthMax } from './driver/messages.ts';
import type { Session } from './driver/session.ts';
import { createRejections, type Rejections } from './refusals.ts';
import { blamesRow, wholeRefused } from './row-errors.ts';
import { lostRace } from './server-error.ts';
import { stageDeleted, stageRows } from './staging.ts';
import { withConflictRetries } from './transaction.ts';
import { batchSql } from './write-sql.ts';

/**
 * Stages the rows, then writes the batch in one transaction and one request. An error rolls it back as a whole (XACT_ABORT, which
 * also dooms savepoints). Statements over the staged rows then mark those that a rule of the table refuses. If that does not
 * suffice, trials find the others, and the rest is written once more.
 *
 * Returns all rows refused. Throws `fenced`, or raw errors of the driver.
 */
export async function writeBatch(session: Session, write: BatchWrite): Promise<readonly RejectedRow[]> {
  const { batch, encoded, rejected } = write;
  if (encoded.indexes.length > 0) await stageRows(session, encoded);
  const deleted = batch.tombstones.length > 0 ? await stageDeleted(session, batch.tombstones) : 0;
  const rejections = createRejections(session, write);
  const commitRest = async (): Promise<readonly RejectedRow[]> => {
    const all = [...rejected, ...(await rejections.marked())];
    await commit(session, { write, deleted, rejected: all });
    return all;
  };
  const commitFound = () => withoutMissing(rejections, commitRest);
  await rejections.checkTexts();
  try {
    return await commitFound();
  } catch (error) {
    if (!blamesRow(error)) throw error;
    if (encoded.indexes.length === 0) throw wholeRefused(error, rejection(batch));
    return await commitOthers(error, { batch, rejections, commitRest: commitFound });
  }
}

/** Mode update: retries without the records that have no row, which are awaited. A row that vanishes meanwhile is a lost race. */
async function withoutMissing<Result>(rejections: Rejections, commitRest: () => Promise<Result>): Promise<Result> {
  try {
    return await commitRest();
  } catch (error) {
    if (error !== untouched) throw error;
    await rejections.checkMissing();
  }
  try {
    return await commitRest();
  } catch (error) {
    throw error === untouched ? lostRace() : error;
  }
}

interface Rest {
  readonly batch: Batch;
  readonly rejections: Rejections;
  readonly commitRest: () => Promise<readonly RejectedRow[]>;
}

/** Retries twice: after checks by statements, then after trials. */
async function commitOthers(error: unknown, { batch, rejections, commitRest }: Rest): Promise<readonly RejectedRow[]> {
  const before = await rejections.marked();
  await rejections.checkRules(error);
  const checked = await rejections.marked();
  if (checked.length > before.length) {
    try {
      return await commitRest();
    } catch (again) {
      if (!blamesRow(again)) throw again;
    }
  }
  await rejections.tryRows();
  const tried = await rejections.marked();
  if (tried.length === 0) throw wholeRefused(error, rejection(batch));
  try {
    return await commitRest();
  } catch (again) {
    throw wholeRefused(again, rejection(batch));
  }
}

const rejection = ({ completesGeneration }: Batch): string =>
  completesGeneration
    ? 'The table does not allow its rows to be replaced'
    : 'The table does not allow records to be deleted';

interface Commit {
  readonly write: BatchWrite;
  /** Staged ids. */
  readonly deleted: number;
  readonly rejected: readonly RejectedRow[];
}

async function commit(session: Session, { write, deleted, rejected }: Commit): Promise<void> {
  const { map, batch, encoded, opensGeneration, connectionId, cleared } = write;
  const { prepared } = map;
  const receipt = batch.receipt(rejected);
  if (receipt.length > receiptLengthMax) throw receiptTooLong();
  const completesGeneration = prepared.mode === 'replace' && batch.completesGeneration;
  const upto = encoded.indexes.length;
  const rows = upto > 0 ? { writers: encoded.writers } : null;
  const deletes = deleted > 0 ? { cleared } : null;
  const completes = completesGeneration ? map : null;
  const sql = batchSql({ prepared, rows, deletes, opensGeneration, completes });
  const values = { ...claimValues(write), connection: connectionId, receipt, upto, deleted };
  const isLong = opensGeneration || completesGeneration;
  await withConflictRetries(session, async () => {
    const [row] = await (isLong ? session.queryAll<Outcome>(sql, values) : session.query<Outcome>(sql, values));
    await checkOutcome(session, { write, outcome: row?.outcome });
  });
}

interface Outcome {
  readonly outcome: WriteOutcome;
}

const receiptTooLong = (): AppError =>
  new AppError(
    'destination_rejected',
    `The records that were refused are more than ${receiptLengthMax} characters in one batch: ask for smaller pages, or correct these records.`,
  );
