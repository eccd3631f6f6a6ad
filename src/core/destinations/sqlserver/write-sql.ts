import { quoted } from '../sql/identifiers.ts';
import { checkpointName, nowSql, tableIdSql } from './checkpoint.ts';
import { keyCollation, tableSql } from './definitions.ts';
import type { SqlServerFields, SqlServerWriter } from './fields.ts';
import type { SqlServerTable } from './schema.ts';
import { missingTable, rowsTable } from './staging.ts';

/** What the transaction of a batch does between the claim and its end. */
export interface BatchSteps {
  readonly prepared: SqlServerTable;
  /** Empty: no rows are staged. */
  readonly rows: { readonly writers: readonly SqlServerWriter[] } | null;
  readonly buries: boolean;
  readonly opensGeneration: boolean;
  readonly completesGeneration: boolean;
  /** What becomes of it. A trial is rolled back whatever comes of it, and takes only the rows before `@upto`. */
  readonly end: 'commit' | 'trial';
}

/**
 * The statements of a batch in one go: a transaction that begins with the claim on the checkpoint row. Answers with
 * one row: `written`, `lost` when the lane is not held or the batch not new, or `race` when another session wrote the
 * same rows in between.
 */
export function batchSql(steps: BatchSteps): string {
  const { prepared, rows, buries, opensGeneration, completesGeneration, end } = steps;
  const isTrial = end === 'trial';
  return `
  declare @outcome nvarchar(10) = N'lost';
  declare @now datetimeoffset(7) = ${nowSql};
  declare @written int = 0;
  begin transaction;
  ${claimSql(prepared)}
  if @@rowcount = 1
  begin
    set @outcome = N'written';
    ${opensGeneration ? clearSql(prepared) : ''}
    ${rows ? rowsSql({ prepared, writers: rows.writers }, isTrial) : ''}
    ${buries && !isTrial ? burySql(prepared) : ''}
    ${completesGeneration && !isTrial ? switchSql(prepared) : ''}
  end;
  ${isTrial ? '' : "if @outcome = N'written' commit transaction; else"} rollback transaction;
  select @outcome as outcome;`;
}

/**
 * Locks the checkpoint row and moves it on, if the lane is still held and the batch is new; in mode replace also only
 * while the table still stands in which the run has gathered its rows.
 */
const claimSql = ({ schema, mode, written }: SqlServerTable): string => `
  update ${checkpointName(schema)}
  set run_id = @run, batch_no = @batch, receipt = @receipt, updated_at = @now
  where lane = @lane and fence = cast(@fence as bigint) and (run_id is null or run_id <> @run or batch_no < @batch)
    ${mode === 'replace' ? `and table_id = ${tableIdSql(schema, written)}` : ''};`;

/** Whether the lane is held; whether the batch was applied. */
export const heldSql = (schema: string): string => `
  select case when run_id = @run and batch_no >= @batch then 1 else 0 end as is_applied
  from ${checkpointName(schema)} where lane = @lane and fence = cast(@fence as bigint);`;

/** Throws away what a run has gathered that never completed. */
const clearSql = ({ schema, written }: SqlServerTable): string =>
  `delete from ${tableSql(schema, written)} where _connection_id = @connection;`;

/** The rows that are staged and not refused, of a trial those before `@upto`. */
const takenSql = (isTrial: boolean): string => `r.is_out is null${isTrial ? ' and r.n < @upto' : ''}`;

/** The statements that write the staged rows as the table's mode says. */
function rowsSql({ prepared, writers }: SqlServerFields, isTrial: boolean): string {
  const table = tableSql(prepared.schema, prepared.written);
  const names = writers.map(({ name }) => `, ${quoted(name)}`).join('');
  const values = writers.map((writer, index) => `, ${valueSql(writer, index)}`).join('');
  const insert = `
    insert into ${table} (_connection_id, _external_id, _run_id, _synced_at, _deleted_at${names})
    select @connection, r.external_id, @run, @now, null${values}
    from ${rowsTable} as r where ${takenSql(isTrial)}`;
  switch (prepared.mode) {
    case 'append':
      return `${insert} order by r.n;`;
    case 'update':
      return updateSql({ table, writers, isTrial });
    case 'upsert':
    case 'replace':
      return `
    ${upsertUpdateSql({ table, writers, isTrial })}
    set @written = @@rowcount;
    ${insert} and not exists (
      select 1 from ${table} as t with (updlock, serializable)
      where t._connection_id = @connection and t._external_id = r.external_id);
    set @written = @written + @@rowcount;
    if @written <> (select count(*) from ${rowsTable} as r where ${takenSql(isTrial)}) set @outcome = N'race';`;
  }
}

interface Updating {
  readonly table: string;
  readonly writers: readonly SqlServerWriter[];
  readonly isTrial: boolean;
}

/** The locks keep the keys that are missing from being taken before the insert. */
const upsertUpdateSql = ({ table, writers, isTrial }: Updating): string => `
    update t
    set _run_id = @run, _synced_at = @now, _deleted_at = null${writers
      .map((writer, index) => `, ${quoted(writer.name)} = ${valueSql(writer, index)}`)
      .join('')}
    from ${table} as t with (updlock, serializable)
      inner join ${rowsTable} as r on t._external_id = r.external_id
    where t._connection_id = @connection and ${takenSql(isTrial)};`;

/** A column that a record does not give keeps its value. */
const updateSql = ({ table, writers, isTrial }: Updating): string => `
    update t
    set _run_id = @run, _synced_at = @now${writers
      .map(
        (writer, index) =>
          `, ${quoted(writer.name)} = case when substring(r.given, ${index + 1}, 1) = N'1'
            then ${valueSql(writer, index)} else t.${quoted(writer.name)} end`,
      )
      .join('')}
    from ${table} as t inner join ${rowsTable} as r on t._external_id = r.external_id
    where t._connection_id = @connection and ${takenSql(isTrial)};`;

/** A text says its collation, or a column of another one could not be chosen beside it. */
const valueSql = ({ castType, staged }: SqlServerWriter, index: number): string => {
  const value = `r.c${index + 1}`;
  if (castType !== null) return `cast(${value} as ${castType})`;
  return staged === 'float' ? value : `${value} collate ${keyCollation}`;
};

/**
 * Marks or removes the rows of records that are gone. Mode append marks every version and leaves to each the run that
 * brought it.
 */
function burySql({ schema, written, mode }: SqlServerTable): string {
  const table = tableSql(schema, written);
  const origin = mode === 'append' ? '' : ', _run_id = @run, _synced_at = @now';
  const from = (isHard: number) => `
    from ${table} as t inner join ${missingTable} as g on t._external_id = g.external_id
    where t._connection_id = @connection and g.is_hard = ${isHard}`;
  return `
    update t set _deleted_at = @now${origin} ${from(0)} and t._deleted_at is null;
    delete t ${from(1)};`;
}

/** What the run has gathered takes the place of the connection's rows, for readers at the commit. */
function switchSql(prepared: SqlServerTable): string {
  const { schema, stored, written } = prepared;
  const [table, next] = [tableSql(schema, stored.name), tableSql(schema, written)];
  const names = stored.columns
    .filter(({ generated }) => !generated)
    .map(({ name }) => quoted(name))
    .join(', ');
  return `
    delete from ${table} where _connection_id = @connection;
    insert into ${table} (${names}) select ${names} from ${next} where _connection_id = @connection;
    ${clearSql(prepared)}`;
}
