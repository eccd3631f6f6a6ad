import { quoted, tableSql } from '../sql/identifiers.ts';
import { claimSql } from './batch-write.ts';
import { nowSql } from './checkpoint.ts';
import { keyCollation } from './definitions.ts';
import type { SqlServerFields } from './fields.ts';
import { clearGenerationSql, switchGenerationSql } from './generation.ts';
import type { SqlServerWriter } from './rows.ts';
import type { SqlServerTable } from './schema.ts';
import { rowsTable, slicesSql, stagedColumn, stagedRows } from './staging.ts';
import { deleteSql } from './tombstones.ts';

export interface BatchSteps {
  readonly prepared: SqlServerTable;
  /** `null` if no rows are staged. */
  readonly rows: { readonly writers: readonly SqlServerWriter[] } | null;
  /** Columns that deleted records leave null in mode update; `null` if none is deleted. */
  readonly deletes: { readonly cleared: readonly string[] } | null;
  readonly opensGeneration: boolean;
  /** `null` if the generation is not complete. */
  readonly completes: Pick<SqlServerFields, 'writers'> | null;
}

/**
 * One request: a transaction that begins with the claim on the checkpoint row. Returns one row with its {@link WriteOutcome}.
 * `@upto` is the number of staged rows, `@deleted` that of deleted records.
 */
export function batchSql({ prepared, rows, deletes, opensGeneration, completes }: BatchSteps): string {
  return `
  declare @outcome nvarchar(10) = N'lost';
  ${variablesSql}
  begin transaction;
  ${claimedSql({ prepared, opensGeneration }, [
    rows ? rowsSql({ prepared, writers: rows.writers }) : '',
    deletes ? deleteSql(prepared, deletes.cleared) : '',
    completes ? switchGenerationSql({ prepared, writers: completes.writers }) : '',
  ])}
  if @outcome = N'written' commit transaction; else rollback transaction;
  select @outcome as outcome;`;
}

/** `@outcome` is `written` after the claim. */
export const claimedSql = (
  { prepared, opensGeneration }: Pick<BatchSteps, 'prepared' | 'opensGeneration'>,
  steps: readonly string[],
): string => `
  ${claimSql(prepared)}
  if @@rowcount = 1
  begin
    set @outcome = N'written';
    ${opensGeneration ? clearGenerationSql(prepared) : ''}
    ${steps.join('\n')}
  end;`;

/** Used by {@link claimSql} and {@link rowsSql}, besides `@outcome` and `@upto`, the end of the rows to write. */
export const variablesSql = `declare @now datetimeoffset(7) = ${nowSql};
  declare @written int = 0;
  declare @at int = 0;
  declare @next int = 0;`;

const takenSql = 'r.issue is null and r.n >= @at and r.n < @next';

export function rowsSql({ prepared, writers }: SqlServerFields): string {
  // An insert of versions that does not fail has written all of them.
  const short = { upsert: 'race', replace: 'race', update: 'untouched', append: null }[prepared.mode];
  return `
    set @written = 0;
    ${slicesSql('@upto', sliceSql({ prepared, writers }))}
    ${
      short === null
        ? ''
        : `if @written <> (select count(*) from ${rowsTable} as r where r.issue is null and r.n < @upto) set @outcome = N'${short}';`
    }`;
}

function sliceSql({ prepared, writers }: SqlServerFields): string {
  const table = tableSql(prepared.schema, prepared.written);
  const names = writers.map(({ name }) => `, ${quoted(name)}`).join('');
  const values = writers.map((writer, index) => `, ${valueSql(writer, index)}`).join('');
  const insert = `
      insert into ${table} (_connection_id, _external_id, _run_id, _synced_at, _deleted_at${names})
      select @connection, r.external_id, @run, @now, null${values}
      from ${stagedRows(writers.length)} where ${takenSql}`;
  switch (prepared.mode) {
    case 'append':
      return `${insert} order by r.n;`;
    case 'update':
      return `${updateSql({ table, writers })}
      set @written = @written + @@rowcount;`;
    case 'upsert':
    case 'replace':
      return `${upsertUpdateSql({ table, writers })}
      set @written = @written + @@rowcount;
      ${insert} and not exists (
        select 1 from ${table} as t with (forceseek, updlock, serializable)
        where t._connection_id = @connection and t._external_id = r.external_id)
      option (loop join);
      set @written = @written + @@rowcount;`;
  }
}

interface Updating {
  readonly table: string;
  readonly writers: readonly SqlServerWriter[];
}

/** A scan would lock the rows of all records, so each row is looked up by the key that every such table has. */
const matchedSql = ({ table, writers }: Updating, hints: string): string => `
      from ${stagedRows(writers.length)}
        inner loop join ${table} as t with (${hints})
          on t._connection_id = @connection and t._external_id = r.external_id
      where ${takenSql};`;

/** The locks keep missing keys from being taken before the insert. */
const upsertUpdateSql = (updating: Updating): string => `
      update t
      set _run_id = @run, _synced_at = @now, _deleted_at = null${updating.writers
        .map((writer, index) => `, ${quoted(writer.name)} = ${valueSql(writer, index)}`)
        .join('')}${matchedSql(updating, 'forceseek, updlock, serializable')}`;

/** A column that a record does not give keeps its value. */
const updateSql = (updating: Updating): string => `
      update t
      set _run_id = @run, _synced_at = @now${updating.writers
        .map(
          (writer, index) =>
            `, ${quoted(writer.name)} = case when substring(r.given, ${index + 1}, 1) = N'1'
            then ${valueSql(writer, index)} else t.${quoted(writer.name)} end`,
        )
        .join('')}${matchedSql(updating, 'forceseek')}`;

/** Texts state their collation, or a column of another one could not be chosen beside them. */
const valueSql = ({ castType, staged }: SqlServerWriter, index: number): string => {
  const value = stagedColumn(index);
  if (castType !== null) return `cast(${value} as ${castType})`;
  return staged === 'float' ? value : `${value} collate ${keyCollation}`;
};
