import { AppError } from '../errors.ts';
import type { Checkpoint, LaneClaim } from './destination.ts';
import { checkpointTable, quoted } from './identifiers.ts';
import type { Session } from './postgres-session.ts';
import type { StoredTable } from './postgres-table.ts';

const columns = ['lane', 'fence', 'run_id', 'batch_no', 'receipt', 'updated_at'];

/** The checkpoint table of a schema, as SQL. */
export const checkpointName = (schema: string): string => `${quoted(schema)}.${quoted(checkpointTable)}`;

/** Creates the checkpoint table. run_id, batch_no and receipt stay null until a batch is applied. */
export const createCheckpointSql = (schema: string): string => `
  create table if not exists ${checkpointName(schema)} (
    lane text primary key,
    fence bigint not null,
    run_id text,
    batch_no integer,
    receipt text,
    updated_at timestamptz not null)`;

/** Throws `destination_rejected` when another table has taken the checkpoint table's name. */
export function checkCheckpointTable(table: StoredTable, schema: string): void {
  const names = new Set(table.columns.map(({ name }) => name));
  if (columns.every((name) => names.has(name)) && table.keys.some((key) => key.join() === 'lane')) return;
  throw new AppError(
    'destination_rejected',
    `${checkpointName(schema)} exists and is not this service's; rename it or choose another schema.`,
  );
}

/** Takes the lane from every earlier attempt. Null: no batch was applied yet. Throws `fenced` when a later one holds it. */
export async function claimLane(session: Session, schema: string, claim: LaneClaim): Promise<Checkpoint | null> {
  const table = checkpointName(schema);
  const [row] = await session.query<StoredCheckpoint>(
    `insert into ${table} as held (lane, fence, updated_at) values ($1, $2, now())
     on conflict (lane) do update set fence = excluded.fence, updated_at = excluded.updated_at
     where held.fence < excluded.fence
     returning run_id as "runId", batch_no as "batchNo", receipt`,
    [claim.lane, claim.fence],
  );
  if (!row) throw fenced();
  const { runId, batchNo, receipt } = row;
  return runId === null || batchNo === null || receipt === null ? null : { runId, batchNo, receipt };
}

/** The failure of an attempt that lost its lane. */
export const fenced = (): AppError =>
  new AppError('fenced', 'A later attempt has taken over this resource; this one ends without writing.');

interface StoredCheckpoint {
  readonly runId: string | null;
  readonly batchNo: number | null;
  readonly receipt: string | null;
}
