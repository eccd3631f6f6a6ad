import { AppError } from '../errors.ts';
import type { Batch, RejectedRow } from './destination.ts';
import { quoted } from './identifiers.ts';
import { arrayLiteral } from './postgres-array.ts';
import { checkpointName, fenced } from './postgres-checkpoint.ts';
import { blamesRow, rowFault } from './postgres-errors.ts';
import type { FieldMap } from './postgres-fields.ts';
import { type EncodedRows, sliceRows } from './postgres-rows.ts';
import { tableSql } from './postgres-schema.ts';
import type { Session } from './postgres-session.ts';
import { inTransaction } from './postgres-transaction.ts';

/** A batch on its way into the table of a lane. */
export interface BatchWrite {
  readonly lane: string;
  readonly fence: number;
  readonly connectionId: string;
  readonly map: FieldMap;
  readonly batch: Batch;
  readonly encoded: EncodedRows;
  /** Rows refused before the server saw them. */
  readonly rejected: readonly RejectedRow[];
}

/**
 * Rows and receipt in one transaction: a single statement, so one round trip, as long as the server takes every row.
 * When it refuses one, nothing was written, and the batch is repeated in parts until the guilty rows are found.
 *
 * Returns all rows refused. Throws `fenced`, or raw errors of pg.
 */
export async function writeBatch(session: Session, write: BatchWrite): Promise<readonly RejectedRow[]> {
  const { connectionId, map, batch, encoded, rejected } = write;
  const insert = insertSql(map, {
    run: '$3',
    connection: '$6',
    firstList: 7,
    where: 'where exists (select from claim)',
  });
  const sql = `with claim as (${claimSql(map)}), written as (${insert}) select from claim`;
  const values = [...claimValues(write, batch.receipt(rejected)), connectionId, ...lists(encoded)];
  try {
    if ((await session.query(sql, values)).length === 0) throw await lostLane(session, write);
    return rejected;
  } catch (error) {
    if (!blamesRow(error)) throw error;
    return inTransaction(session, () => writeInParts(session, write));
  }
}

/** The row lock comes first and the receipt last, since it speaks of the rows refused in between. */
async function writeInParts(session: Session, write: BatchWrite): Promise<readonly RejectedRow[]> {
  const { lane, map, batch, encoded } = write;
  // Constraints checked at commit could no longer be laid to a row.
  await session.query('set constraints all immediate');
  if ((await session.query(claimSql(map), claimValues(write, ''))).length === 0) throw await lostLane(session, write);
  const rejected = [...write.rejected, ...(await writeHalves(session, { write, rows: encoded }))];
  const { schema } = map.prepared;
  const sql = `update ${checkpointName(schema)} set receipt = $2 where lane = $1`;
  await session.query(sql, [lane, batch.receipt(rejected)]);
  return rejected;
}

interface Part {
  readonly write: BatchWrite;
  readonly rows: EncodedRows;
}

async function writeHalves(session: Session, { write, rows }: Part): Promise<RejectedRow[]> {
  const count = rows.externalIds.length;
  const middle = count >> 1;
  const first = middle === 0 ? [] : await writePart(session, { write, rows: sliceRows(rows, 0, middle) });
  return [...first, ...(await writePart(session, { write, rows: sliceRows(rows, middle, count) }))];
}

async function writePart(session: Session, { write, rows }: Part): Promise<RejectedRow[]> {
  const { map, batch, connectionId } = write;
  await session.query('savepoint part');
  try {
    const sql = insertSql(map, { run: '$1', connection: '$2', firstList: 3, where: '' });
    await session.query(sql, [batch.runId, connectionId, ...lists(rows)]);
    await session.query('release savepoint part');
    return [];
  } catch (error) {
    if (!blamesRow(error)) throw error;
    await session.query('rollback to savepoint part');
    await session.query('release savepoint part');
    const [externalId = ''] = rows.externalIds;
    if (rows.externalIds.length === 1) return [{ externalId, message: rowFault(error) }];
    return writeHalves(session, { write, rows });
  }
}

/** Locks the checkpoint row and moves it on, if the lane is still held and the batch is new. */
const claimSql = ({ prepared }: FieldMap): string => `
  update ${checkpointName(prepared.schema)}
  set run_id = $3::text, batch_no = $4, receipt = $5, updated_at = now()
  where lane = $1 and fence = $2 and (run_id is distinct from $3::text or batch_no < $4)
  returning 1`;

const claimValues = ({ lane, fence, batch }: BatchWrite, receipt: string) => [
  lane,
  fence,
  batch.runId,
  batch.batchNo,
  receipt,
];

async function lostLane(session: Session, { lane, fence, map, batch }: BatchWrite): Promise<AppError> {
  const sql = `select from ${checkpointName(map.prepared.schema)} where lane = $1 and fence = $2`;
  if ((await session.query(sql, [lane, fence])).length === 0) return fenced();
  return new AppError('fenced', `Batch ${batch.batchNo} of this run was applied already; read the checkpoint again.`);
}

interface InsertParts {
  readonly run: string;
  readonly connection: string;
  /** Number of the parameter with the external ids; the columns follow. */
  readonly firstList: number;
  readonly where: string;
}

function insertSql({ prepared, writers }: FieldMap, { run, connection, firstList, where }: InsertParts): string {
  const names = writers.map(({ name }) => `, ${quoted(name)}`).join('');
  const casts = writers.map(({ castType }, index) => `, r.c${index + 1}::${castType}`).join('');
  const aliases = ['c0', ...writers.map((_, index) => `c${index + 1}`)];
  const parameters = aliases.map((_, index) => `$${firstList + index}::text[]`);
  const updates = writers.map(({ name }) => `, ${quoted(name)} = excluded.${quoted(name)}`).join('');
  return `
    insert into ${tableSql(prepared.schema, prepared.stored.name)}
      (_connection_id, _external_id, _run_id, _synced_at, _deleted_at${names})
    select ${connection}::text, r.c0, ${run}::text, now(), null${casts}
    from unnest(${parameters.join(', ')}) as r(${aliases.join(', ')}) ${where}
    on conflict (_connection_id, _external_id) do update set
      _run_id = excluded._run_id, _synced_at = excluded._synced_at, _deleted_at = null${updates}`;
}

const lists = ({ externalIds, columns }: EncodedRows): string[] => [externalIds, ...columns].map(arrayLiteral);
