import { quoted, shownName, tableSql } from '../sql/identifiers.ts';
import { keyCollation } from './definitions.ts';
import type { SqlServerFields } from './fields.ts';
import { rowIssue } from './row-errors.ts';
import { comparedValue, type KeyValue, keyValues } from './row-values.ts';
import type { SqlServerWriter } from './rows.ts';
import type { CheckRule, ReferenceRule, TableRules, UniqueRule } from './rules.ts';
import { columnsEach, rowsTable, stagedColumn, stagedRows } from './staging.ts';
import { longerThan } from './values.ts';

/** Negative numbers mark staged rows, since the server's error numbers are positive. */
export interface Reasons {
  readonly note: (message: string) => number;
  /** Undefined for an issue that is not one of these. */
  readonly messageOf: (issue: number) => string | undefined;
}

export function createReasons(): Reasons {
  const messages: string[] = [];
  return { note: (message) => -messages.push(message), messageOf: (issue) => messages[-issue - 1] };
}

export interface Checked {
  readonly map: SqlServerFields;
  readonly writers: readonly SqlServerWriter[];
  readonly reasons: Reasons;
}

/** Marks values that only the server can tell not to fit: one statement for each staged table. */
export function valueChecks({ writers, reasons }: Omit<Checked, 'map'>): string[] {
  const found = writers.map((writer, index) => valueFaults(writer, index, reasons));
  const statements: string[] = [];
  for (let from = 0; from < writers.length; from += columnsEach) {
    const issues = found.slice(from, from + columnsEach).flat();
    if (issues.length === 0) continue;
    const cases = issues.map(({ condition, issue }) => `when ${condition} then ${issue}`).join(' ');
    statements.push(`
    update r set issue = case ${cases} end from ${stagedRows(writers.length)}
    where r.issue is null and (${issues.map(({ condition }) => condition).join(' or ')});`);
  }
  return statements;
}

interface ValueFault {
  /** As SQL. */
  readonly condition: string;
  readonly issue: number;
}

function valueFaults({ name, castType, serverCheck }: SqlServerWriter, index: number, reasons: Reasons): ValueFault[] {
  if (serverCheck === null) return [];
  const staged = stagedColumn(index);
  const note = (misfit: string) => reasons.note(`The value of column ${shownName(name)} ${misfit}.`);
  const { bytes } = serverCheck;
  const isCast = serverCheck.kind === 'cast';
  const stored = isCast
    ? `try_cast(${staged} as ${castType})`
    : `cast(${staged} collate ${serverCheck.collation} as varchar(max))`;
  const misfit: ValueFault = isCast
    ? {
        condition: `(${staged} is not null and ${stored} is null)`,
        issue: note(`does not fit its type, ${serverCheck.typeName}`),
      }
    : {
        condition: `cast(${stored} as nvarchar(max)) collate ${keyCollation} <> ${staged}`,
        issue: note('has characters that its varchar column cannot hold; make it nvarchar'),
      };
  if (bytes < 0) return [misfit];
  return [misfit, { condition: `datalength(${stored}) > ${bytes}`, issue: note(longerThan(`${bytes} bytes`)) }];
}

/** Marks the rows that would be inserted without a value for a not-null column; `null` if the table has no such column. */
export function missingCheck({ map: { prepared }, writers, reasons }: Checked): string | null {
  const { schema, stored, written, mode } = prepared;
  const filled = new Set([...writers.map(({ name }) => name), ...ownColumns]);
  const empty = stored.columns.find(
    ({ name, nullable, generated, hasDefault }) => !nullable && !generated && !hasDefault && !filled.has(name),
  );
  if (!empty || mode === 'update') return null;
  const isNew = `not exists (
      select 1 from ${tableSql(schema, written)} as t
      where t._connection_id = @connection and t._external_id = r.external_id)`;
  const issue = reasons.note(serverText(515, `column '${empty.name}'`));
  return `
    update r set issue = ${issue} from ${rowsTable} as r where r.issue is null${mode === 'append' ? '' : ` and ${isNew}`};`;
}

export const noRowCheck = ({ prepared: { schema, written } }: SqlServerFields, issue: number): string => `
    update r set issue = ${issue} from ${rowsTable} as r where r.issue is null and not exists (
      select 1 from ${tableSql(schema, written)} as t with (forceseek)
      where t._connection_id = @connection and t._external_id = r.external_id);`;

const ownColumns = ['_connection_id', '_external_id', '_run_id', '_synced_at', '_deleted_at'];

/** One statement for each rule. */
export function ruleChecks(checked: Checked, { uniques, references, checks }: TableRules): string[] {
  return [
    ...uniques.map((rule) => takenCheck(checked, rule)),
    ...references.map((rule) => referenceCheck(checked, rule)),
    ...checks.map((rule) => conditionCheck(checked, rule)),
  ].flatMap((sql) => sql ?? []);
}

/** `null` if only the trials can tell. */
function takenCheck(checked: Checked, rule: UniqueRule): string | null {
  const { map, writers, reasons } = checked;
  const keys = uniqueKeys(checked, rule);
  if (!keys) return null;
  const { schema, written, mode } = map.prepared;
  const same = keys.map((key) => `t.${quoted(key.column)} = ${key.valueOf('r')}`).join(' and ');
  const isChanged = `exists (
        select 1 from ${rowsTable} as u
        where u.issue is null and u.external_id = t._external_id and t._connection_id = @connection)`;
  return `
    update r set issue = ${reasons.note(uniqueText(rule))} from ${stagedRows(writers.length)}
    where r.issue is null and exists (
      select 1 from ${tableSql(schema, written)} as t where ${same}${mode === 'append' ? '' : ` and not ${isChanged}`});`;
}

/** Rounds that decide which of several rows with the same keys stay; the trials decide the remaining ones. */
const roundsMax = 8;

/**
 * The first row with a key stays, unless an earlier row rules it out by another key. Each round keeps the rows that clash with no
 * earlier one, then drops those that clash with a kept one. Valid only if no other row is refused. `null` if there is nothing to
 * check.
 */
export function twinCheck(
  checked: Checked,
  { uniques }: TableRules,
): { readonly sql: string; readonly issues: readonly number[] } | null {
  const { writers, reasons } = checked;
  const rules = uniques.flatMap((rule) => {
    const keys = uniqueKeys(checked, rule);
    return keys ? [{ keys, issue: reasons.note(uniqueText(rule)) }] : [];
  });
  if (rules.length === 0) return null;
  const earlier = (keys: readonly KeyValue[], condition: string) => `exists (
        select 1 from ${stagedRows(writers.length, 'q')}
        where q.n < r.n and q.issue is null${condition} and ${keys.map((key) => `${key.valueOf('q')} = ${key.valueOf('r')}`).join(' and ')})`;
  const undecided = `from ${stagedRows(writers.length)} where r.issue is null and r.kept is null`;
  const refuse = rules.map(
    ({ keys, issue }) => `
      update r set issue = ${issue} ${undecided} and ${earlier(keys, ' and q.kept = 1')};
      set @changed = @changed + @@rowcount;`,
  );
  const sql = `
    declare @changed int = 1;
    declare @round int = 0;
    while @changed > 0 and @round < ${roundsMax}
    begin
      update r set kept = 1 ${undecided} and ${rules.map(({ keys }) => `not ${earlier(keys, '')}`).join(' and ')};
      set @changed = @@rowcount;${refuse.join('')}
      set @round = @round + 1;
    end;`;
  return { sql, issues: rules.map(({ issue }) => issue) };
}

/** `null` if the batch does not write the whole key, cannot bring it twice, or the types compare in special ways. */
function uniqueKeys({ map, writers }: Checked, { columns }: UniqueRule): readonly KeyValue[] | null {
  const isRecord = columns.includes('_connection_id') && columns.includes('_external_id');
  return isRecord && map.prepared.mode !== 'append' ? null : keyValues({ map, writers }, columns);
}

function referenceCheck({ map, writers, reasons }: Checked, rule: ReferenceRule): string | null {
  const keys = keyValues(
    { map, writers },
    rule.pairs.map(([column]) => column),
  );
  if (!keys) return null;
  const given = keys.map((key) => `${key.valueOf('r')} is not null`).join(' and ');
  const same = keys.map((key, index) => `p.${quoted(rule.pairs[index]?.[1] ?? '')} = ${key.valueOf('r')}`);
  return `
    update r set issue = ${reasons.note(constraintText(rule.name))} from ${stagedRows(writers.length)}
    where r.issue is null and ${given}
      and not exists (select 1 from ${tableSql(rule.schema, rule.table)} as p where ${same.join(' and ')});`;
}

/** A check refuses rows where it is false; null passes. */
function conditionCheck({ map, writers, reasons }: Checked, { name, definition }: CheckRule): string | null {
  const lower = definition.toLowerCase();
  const written = new Set(writers.map((writer) => writer.name));
  const isNamed = (column: string) => lower.includes(column.toLowerCase());
  if (map.prepared.stored.columns.some((column) => !written.has(column.name) && isNamed(column.name))) return null;
  const values = writers.flatMap((writer, index) =>
    isNamed(writer.name) ? [`${comparedValue(map, { writer, index }, 'v')} as ${quoted(writer.name)}`] : [],
  );
  if (values.length === 0) return null;
  return `
    update r set issue = ${reasons.note(constraintText(name))} from ${rowsTable} as r
    where r.issue is null and r.n in (
      select s._css_n from (select v.n as _css_n, ${values.join(', ')} from ${stagedRows(writers.length, 'v')}) as s
      where not (${definition}));`;
}

const constraintText = (name: string): string => serverText(547, `constraint '${name}'`);

const uniqueText = ({ name, isConstraint }: UniqueRule): string =>
  isConstraint ? serverText(2627, `constraint '${name}'`) : serverText(2601, `index '${name}'`);

/** Words the error as if the server had reported it. */
const serverText = (number: number, message: string): string => rowIssue(Object.assign(new Error(message), { number }));
