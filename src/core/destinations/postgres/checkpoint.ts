import { checkpointChanged, takenOver } from '../../errors.ts';
import { receiptBytesMax } from '../../model/receipt.ts';
import { lightBytes } from '../../model/response-memory.ts';
import type { LaneClaim, LastBatch, OpenedLane } from '../destination.ts';
import { checkpointName, tableSql } from '../sql/identifiers.ts';
import type { PreparedTable } from '../sql/record-fields.ts';
import { lastBatch, openedLane, storedNumber } from '../sql/stored-checkpoint.ts';
import type { LanePlace } from '../sql/table-kind.ts';
import type { ResponseLimits } from './frames.ts';
import { isTrue, type Session } from './session.ts';

/** An older table lacks `generation`. */
export const checkpointColumns = ['lane', 'fence', 'table_oid', 'run_id', 'batch_no', 'receipt', 'updated_at'];

/** Allowance for the run and batch beside a receipt, and for message headers. */
const responseHeadBytes = 65_536;
const limitsFor = (receiptBytes: number): ResponseLimits => ({
  bytesMax: receiptBytes + responseHeadBytes,
  rowsMax: 1,
});

/**
 * run_id, batch_no and receipt stay null until a batch is applied to the table with table_oid. In mode replace that is the table
 * where the generation gathers; a recreated table has another oid. Receipts are mostly digests: compressing them takes as long as
 * writing them.
 */
export const createCheckpointSql = (schema: string): string => `
  create table if not exists ${checkpointName(schema)} (
    lane text primary key,
    fence bigint not null,
    table_oid oid not null,
    generation text not null default '',
    run_id text,
    batch_no integer,
    receipt text,
    updated_at timestamptz not null);
  alter table ${checkpointName(schema)} alter column receipt set storage external`;

export const alterCheckpointSql = (schema: string): string =>
  `alter table ${checkpointName(schema)} add column if not exists generation text not null default ''`;

/**
 * Takes the lane from every earlier attempt. The same statement forgets batches applied to another table or for another
 * generation. Throws `fenced` when a later attempt holds the lane.
 */
export async function claimLane(
  session: Session,
  { schema, written }: Pick<PreparedTable, 'schema' | 'written'>,
  claim: LaneClaim,
): Promise<OpenedLane> {
  const kept = (column: string) => `${column} = case
    when held.table_oid = excluded.table_oid and held.generation = excluded.generation then held.${column} end`;
  const [row] = await session.query<'runId' | 'batchNo' | 'bytes' | 'receipt'>(
    `insert into ${checkpointName(schema)} as held (lane, fence, table_oid, generation, updated_at)
     values ($1, $2, $3::regclass, $4, now())
     on conflict (lane) do update set fence = excluded.fence, updated_at = excluded.updated_at,
       table_oid = excluded.table_oid, generation = excluded.generation,
       ${['run_id', 'batch_no', 'receipt'].map(kept).join(', ')}
     where held.fence < excluded.fence or (held.fence = excluded.fence and held.generation <> excluded.generation)
     returning run_id as "runId", batch_no as "batchNo", ${sentBytesSql} as "bytes",
       case when ${sentBytesSql} <= ${lightBytes} then receipt end as receipt`,
    [claim.lane, claim.fence, tableSql(schema, written), claim.generation],
    limitsFor(lightBytes),
  );
  if (!row) return openedLane(undefined);
  const bytes = storedNumber(row.bytes);
  const isLarge = bytes !== null && row.receipt === null;
  const receipt = isLarge ? await largeReceipt(session, { schema, claim, bytes }) : row.receipt;
  return openedLane({ ...row, receipt, batchNo: storedNumber(row.batchNo) });
}

/** Bytes of the receipt as it is sent, in UTF-8. */
const sentBytesSql = `case when getdatabaseencoding() = 'UTF8' then octet_length(held.receipt)
  else octet_length(convert_to(held.receipt, 'UTF8')) end`;

/** Reads it within the memory of the org, and no more of it than the server has announced. */
async function largeReceipt(
  session: Session,
  { schema, claim, bytes }: { readonly schema: string; readonly claim: LaneClaim; readonly bytes: number },
): Promise<string | null | undefined> {
  if (!(bytes <= receiptBytesMax)) throw checkpointChanged(null);
  // The bytes, and the text that the driver makes of them.
  claim.held.hold(2 * bytes);
  const [row] = await session.query<'receipt'>(
    `select receipt from ${checkpointName(schema)} where lane = $1 and fence = $2`,
    [claim.lane, claim.fence],
    limitsFor(bytes),
  );
  if (!row) throw takenOver();
  return row.receipt;
}

export async function hasLane(session: Session, { schema, lane, tables }: LanePlace): Promise<boolean> {
  const rows = await session.query(
    `select lane from ${checkpointName(schema)}
     where lane = $1 and table_oid in (select to_regclass(one) from unnest($2::text[]) as one)`,
    [lane, tables.map((table) => tableSql(schema, table))],
  );
  return rows.length > 0;
}

/** `null` if the table or row is missing, or no batch was applied. */
export async function peekLane(session: Session, givenSchema: string | null, lane: string): Promise<LastBatch | null> {
  const schema = givenSchema ?? session.defaultSchema;
  if (schema === null) return null;
  const [table] = await session.query<'exists'>('select to_regclass($1) is not null as exists', [
    checkpointName(schema),
  ]);
  if (!isTrue(table?.exists)) return null;
  const [row] = await session.query<'runId' | 'batchNo'>(
    `select run_id as "runId", batch_no as "batchNo" from ${checkpointName(schema)} where lane = $1`,
    [lane],
  );
  return row ? lastBatch({ ...row, batchNo: storedNumber(row.batchNo) }) : null;
}
