import type { RejectedRow } from '../../model/batch.ts';
import { textArray } from '../../postgres/binary-arrays.ts';
import { checkpointName } from '../sql/identifiers.ts';
import { textArrays } from './arrays.ts';
import { type BatchWrite, claimSql, claimValues, lostLane } from './batch-write.ts';
import { blamesRow, isDuplicateKey, rowIssue } from './errors.ts';
import { clearGeneration, switchGeneration } from './generation.ts';
import { type PostgresRows, sliceRows } from './rows.ts';
import type { Session } from './session.ts';
import { applyTombstones, deletableSql, deleteSql, idsByEffect } from './tombstones.ts';
import { inTransaction, withConflictRetries } from './transaction.ts';
import { ambiguous, findUntouched, isAmbiguous, isUntouched, touchedSql, untouchedRows } from './untouched.ts';
import { rowsSql } from './write-sql.ts';

/**
 * Writes a batch in one transaction: a single statement, so one round trip, as long as the server takes every row. When it
 * refuses one, nothing was written, and the batch is repeated in parts until the rejected rows are found. Batches that begin or
 * complete a generation, or mark rows of their own, take several statements. Conflicts with other transactions are retried.
 *
 * Returns all rows refused. Throws `fenced`, or raw errors of pg.
 */
export const writeBatch = (session: Session, write: BatchWrite): Promise<readonly RejectedRow[]> =>
  withConflictRetries(session, () => tryBatch(session, write));

async function tryBatch(session: Session, write: BatchWrite): Promise<readonly RejectedRow[]> {
  if (write.opensGeneration || completesGeneration(write) || marksNewRows(write) || withUntouched.has(session)) {
    return inTransaction(session, () => writeInSteps(session, { write, writeRows: writePart }));
  }
  const { batch, map, rejected } = write;
  const onlyInserts = batch.allNew && map.prepared.mode === 'upsert' && !withRowsOfBefore.has(session);
  try {
    await writeAtOnce(session, write, onlyInserts);
    return rejected;
  } catch (error) {
    if (!blamesRow(error)) throw error;
    if (onlyInserts && isDuplicateKey(error)) {
      withRowsOfBefore.add(session);
      return tryBatch(session, write);
    }
    if (isUntouched(error)) {
      withUntouched.add(session);
      return inTransaction(session, () => writeInSteps(session, { write, writeRows: writePart }));
    }
    return inTransaction(session, () => writeInSteps(session, { write, writeRows: writeHalves }));
  }
}

/** Sessions whose table has rows unknown to their lane: the lane was reset, or another lane writes them. */
const withRowsOfBefore = new WeakSet<Session>();

/** Sessions whose table leaves rows untouched; finding those rows takes several statements. */
const withUntouched = new WeakSet<Session>();

const completesGeneration = ({ map, batch }: BatchWrite): boolean =>
  map.prepared.mode === 'replace' && batch.completesGeneration;

/** One statement does not see the rows that it inserts. */
const marksNewRows = ({ map, batch }: BatchWrite): boolean =>
  map.prepared.mode === 'append' && batch.tombstones.length > 0;

async function writeAtOnce(session: Session, write: BatchWrite, onlyInserts: boolean): Promise<void> {
  const { connectionId, map, batch, encoded, arrays, rejected } = write;
  const places = { run: '$3', connection: '$6', firstList: 7, isGuarded: true };
  const types = arrays.map(({ type }) => type);
  const rows = rowsSql(map, { places, writers: encoded.writers, types, onlyInserts });
  const idLists = idsByEffect(batch.tombstones);
  const deleted = idLists.map(([effect], index) => {
    const parts = { effect, places, ids: `$${7 + encoded.lists.length + index}`, cleared: write.cleared };
    return {
      cte: `, ${effect}_deleted as (${deleteSql(map.prepared, parts)} returning 1)`,
      isWhole: `(select count(*) from ${effect}_deleted) = (select count(*) from ${deletableSql(map.prepared, parts)})`,
    };
  });
  const touched = [
    `(select count(*) from written) = ${encoded.indexes.length}`,
    ...deleted.map(({ isWhole }) => isWhole),
  ];
  const sql = `with claim as (${claimSql(map)}), written as (${rows} returning 1)${deleted.map(({ cte }) => cte).join('')}
    select ${touchedSql(touched)} from claim`;
  const values = [
    ...claimValues(write, batch.receipt(rejected)),
    connectionId,
    ...arrays.map(({ bytes }) => bytes),
    ...idLists.map(([, ids]) => textArray(ids)),
  ];
  if ((await session.queryAgain(sql, values)).length === 0) throw await lostLane(session, write);
}

interface Steps {
  readonly write: BatchWrite;
  readonly writeRows: (session: Session, part: Part) => Promise<readonly RejectedRow[]>;
}

/** The receipt is written last, since it names the rows refused in between. */
async function writeInSteps(session: Session, { write, writeRows }: Steps): Promise<readonly RejectedRow[]> {
  const { lane, map, batch, connectionId, encoded } = write;
  // Constraint errors at commit could not be assigned to a row.
  await session.query('set constraints all immediate');
  if ((await session.query(claimSql(map), claimValues(write, ''))).length === 0) throw await lostLane(session, write);
  if (write.opensGeneration) await clearGeneration(session, { prepared: map.prepared, connectionId });
  const rejected = [...write.rejected, ...(await writeRows(session, { write, rows: encoded }))];
  rejected.push(...(await applyTombstones(session, write)));
  if (completesGeneration(write)) await switchGeneration(session, { map, connectionId });
  const sql = `update ${checkpointName(map.prepared.schema)} set receipt = $2 where lane = $1`;
  await session.query(sql, [lane, batch.receipt(rejected)]);
  return rejected;
}

interface Part {
  readonly write: BatchWrite;
  readonly rows: PostgresRows;
}

async function writeHalves(session: Session, { write, rows }: Part): Promise<readonly RejectedRow[]> {
  const count = rows.indexes.length;
  const middle = count >> 1;
  const first = middle === 0 ? [] : await writePart(session, { write, rows: sliceRows(rows, 0, middle) });
  return [...first, ...(await writePart(session, { write, rows: sliceRows(rows, middle, count) }))];
}

async function writePart(session: Session, { write, rows }: Part): Promise<readonly RejectedRow[]> {
  const { map, batch, connectionId } = write;
  if (rows.indexes.length === 0) return [];
  await session.query('savepoint part');
  try {
    const places = { run: '$1', connection: '$2', firstList: 3, isGuarded: false };
    const sql = rowsSql(map, {
      places,
      writers: rows.writers,
      types: rows.lists.map(() => 'text'),
      onlyInserts: false,
    });
    const untouched = await findUntouched(session, {
      sql,
      values: [batch.runId, connectionId, ...textArrays(rows)],
      rows,
    });
    if (isAmbiguous(untouched, rows)) throw ambiguous;
    await session.query('release savepoint part');
    return untouched.length === 0 ? [] : await untouchedRows(session, { write, rows, externalIds: untouched });
  } catch (error) {
    if (error !== ambiguous && !blamesRow(error)) throw error;
    await session.query('rollback to savepoint part');
    await session.query('release savepoint part');
    const [index = 0] = rows.indexes;
    const externalId = batch.rows[index]?.externalId ?? '';
    if (rows.indexes.length === 1) return [{ index, externalId, message: rowIssue(error) }];
    return writeHalves(session, { write, rows });
  }
}
