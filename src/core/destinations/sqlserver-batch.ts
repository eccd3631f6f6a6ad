import { AppError } from '../errors.ts';
import type { Batch, RejectedRow } from './destination.ts';
import { type BatchWrite, checkOutcome, heldBy, type Outcome } from './sqlserver-batch-write.ts';
import { blamesRow, wholeRefused } from './sqlserver-errors.ts';
import { receiptLengthMax } from './sqlserver-messages.ts';
import { createRefusals, type Refusals } from './sqlserver-refusals.ts';
import type { Session } from './sqlserver-session.ts';
import { stageGone, stageRows } from './sqlserver-staging.ts';
import { withConflictRetries } from './sqlserver-transaction.ts';
import { batchSql } from './sqlserver-write-sql.ts';

/**
 * Rows are staged, then rows, tombstones and receipt go into one transaction, all its statements in one request. An
 * error rolls it back as a whole (XACT_ABORT, which also dooms what a savepoint would have kept). Then statements over
 * the staged rows mark those that a rule of the table refuses, and if that is not all, trials find the others; at last
 * the rest is written once more.
 *
 * Returns all rows refused. Throws `fenced`, or raw errors of the driver.
 */
export async function writeBatch(session: Session, write: BatchWrite): Promise<readonly RejectedRow[]> {
  const { batch, encoded, rejected } = write;
  if (encoded.indexes.length > 0) await stageRows(session, encoded);
  const gone = batch.tombstones.length > 0 ? await stageGone(session, batch.tombstones) : 0;
  const refusals = createRefusals(session, write);
  const commitRest = async (): Promise<readonly RejectedRow[]> => {
    const all = [...rejected, ...(await refusals.marked())];
    await commit(session, { write, gone, rejected: all });
    return all;
  };
  await refusals.checkTexts();
  try {
    return await commitRest();
  } catch (error) {
    if (!blamesRow(error)) throw error;
    if (encoded.indexes.length === 0) throw wholeRefused(error, refusal(batch));
    return await commitOthers(error, { batch, refusals, commitRest });
  }
}

interface Rest {
  readonly batch: Batch;
  readonly refusals: Refusals;
  readonly commitRest: () => Promise<readonly RejectedRow[]>;
}

/** Twice: by what statements say of the rows, then by trials. */
async function commitOthers(error: unknown, { batch, refusals, commitRest }: Rest): Promise<readonly RejectedRow[]> {
  const before = await refusals.marked();
  await refusals.checkRules(error);
  const checked = await refusals.marked();
  if (checked.length > before.length) {
    try {
      return await commitRest();
    } catch (again) {
      if (!blamesRow(again)) throw again;
    }
  }
  await refusals.tryRows();
  const tried = await refusals.marked();
  if (tried.length === 0) throw wholeRefused(error, refusal(batch));
  try {
    return await commitRest();
  } catch (again) {
    throw wholeRefused(again, refusal(batch));
  }
}

const refusal = ({ completesGeneration }: Batch): string =>
  completesGeneration ? 'The table does not let its rows be replaced' : 'The table keeps rows of records that are gone';

interface Commit {
  readonly write: BatchWrite;
  /** Staged records that are gone. */
  readonly gone: number;
  readonly rejected: readonly RejectedRow[];
}

async function commit(session: Session, { write, gone, rejected }: Commit): Promise<void> {
  const { map, batch, encoded, opensGeneration, connectionId } = write;
  const { prepared } = map;
  const receipt = batch.receipt(rejected);
  if (receipt.length > receiptLengthMax) throw receiptTooLong();
  const completesGeneration = prepared.mode === 'replace' && batch.completesGeneration;
  const upto = encoded.indexes.length;
  const rows = upto > 0 ? { writers: encoded.writers } : null;
  const sql = batchSql({ prepared, rows, buries: gone > 0, opensGeneration, completesGeneration });
  const values = { ...heldBy(write), connection: connectionId, receipt, upto, gone };
  // Statements over all rows of a connection may take their time.
  const isLong = opensGeneration || completesGeneration;
  await withConflictRetries(session, async () => {
    const [answer] = await (isLong ? session.queryAll<Answer>(sql, values) : session.query<Answer>(sql, values));
    await checkOutcome(session, { write, outcome: answer?.outcome });
  });
}

interface Answer {
  readonly outcome: Outcome;
}

const receiptTooLong = (): AppError =>
  new AppError(
    'destination_rejected',
    `The records that were refused are more than ${receiptLengthMax} characters in one batch: ask for smaller pages, or correct what is refused.`,
  );
