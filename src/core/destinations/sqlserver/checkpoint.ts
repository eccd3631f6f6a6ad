import type { LaneClaim, OpenedLane } from '../destination.ts';
import { checkpointName } from '../sql/identifiers.ts';
import type { PreparedTable } from '../sql/record-fields.ts';
import { openedLane, type StoredCheckpoint } from '../sql/stored-checkpoint.ts';
import type { LanePlace } from '../sql/table-kind.ts';
import { keyCollation } from './definitions.ts';
import type { Session } from './driver/session.ts';

/** An older table lacks `generation`. */
export const checkpointColumns = ['lane', 'fence', 'table_id', 'run_id', 'batch_no', 'receipt', 'updated_at'];

/**
 * run_id, batch_no and receipt stay null until a batch is applied to the table with table_id. In mode replace that is the table
 * where the generation gathers; a recreated table has another id.
 */
export const createCheckpointSql = (schema: string): string => `
  create table ${checkpointName(schema)} (
    lane nvarchar(450) collate ${keyCollation} not null primary key,
    fence bigint not null,
    table_id int not null,
    generation ${generationType},
    run_id nvarchar(100) null,
    batch_no int null,
    receipt nvarchar(max) null,
    updated_at datetimeoffset(7) not null);`;

const generationType = `nvarchar(100) collate ${keyCollation} not null default N''`;

export const alterCheckpointSql = (schema: string): string =>
  `alter table ${checkpointName(schema)} add generation ${generationType};`;

export const nowSql = 'cast(sysutcdatetime() as datetimeoffset(7))';

/** The id of a table as SQL; null when it does not exist. */
export const tableIdSql = (schema: string, table: string): string => `object_id(N'${schema}.${table}')`;

/**
 * Takes the lane from every earlier attempt. The same transaction forgets batches applied to another table or for another
 * generation. Locks make one of two first claims wait for the other. Throws `fenced` when a later attempt holds the lane.
 */
export async function claimLane(session: Session, prepared: Place, claim: LaneClaim): Promise<OpenedLane> {
  const [row] = await session.query<StoredCheckpoint>(claimLaneSql(prepared), {
    lane: claim.lane,
    fence: String(claim.fence),
    generation: claim.generation,
  });
  return openedLane(row);
}

export async function hasLane(session: Session, { schema, lane, tables }: LanePlace): Promise<boolean> {
  const ids = tables.map((table) => tableIdSql(schema, table));
  const rows = await session.query<{ readonly lane: string }>(
    `select lane as lane from ${checkpointName(schema)} where lane = @lane and table_id in (${ids.join(', ')});`,
    { lane },
  );
  return rows.length > 0;
}

type Place = Pick<PreparedTable, 'schema' | 'written'>;

function claimLaneSql({ schema, written }: Place): string {
  const name = checkpointName(schema);
  const kept = (column: string) =>
    `${column} = case when table_id = @table and generation = @generation then ${column} end`;
  return `
  declare @table int = ${tableIdSql(schema, written)};
  declare @held bigint = cast(@fence as bigint);
  declare @taken int = 0;
  begin transaction;
  update ${name} with (updlock, serializable)
  set fence = @held, table_id = @table, generation = @generation, updated_at = ${nowSql},
    ${['run_id', 'batch_no', 'receipt'].map(kept).join(', ')}
  where lane = @lane and (fence < @held or (fence = @held and generation <> @generation));
  set @taken = @@rowcount;
  insert into ${name} (lane, fence, table_id, generation, updated_at)
  select @lane, @held, @table, @generation, ${nowSql}
  where not exists (select 1 from ${name} with (updlock, serializable) where lane = @lane);
  set @taken = @taken + @@rowcount;
  select run_id, batch_no, receipt from ${name} where lane = @lane and @taken = 1;
  commit transaction;`;
}
