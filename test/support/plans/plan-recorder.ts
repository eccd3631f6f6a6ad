/** Records how PostgreSQL executes each statement: it is explained, with the rows it touched, before it is executed. */
import { CompiledQuery, type DatabaseConnection, type Dialect, type Driver, type Kysely, type QueryId } from 'kysely';
import { databaseOn, openDialect } from '../../../db/client.ts';
import type { Database } from '../../../db/schema.ts';
import { namesOnStack, withNames } from '../security/row-security.ts';

/** A table that a statement read. */
export interface TableScan {
  readonly table: string;
  /** `Seq Scan`, `Index Scan`, … */
  readonly node: string;
  /** Rows that it met, also those that it threw away. */
  readonly rows: number;
}

/** A statement of a query function. */
export interface RecordedPlan {
  /** `folder/file.function` of `db/queries`; of nested ones the innermost. */
  readonly query: string;
  /** Files of all of them. */
  readonly files: readonly string[];
  readonly text: string;
  /** Rows that it returned, or elements of the longest list in one of them: so many are in memory at once. */
  readonly returned: number;
  readonly scans: readonly TableScan[];
}

/** Opens the database so that plans are recorded. */
export function openRecording(url: string): { readonly db: Kysely<Database>; readonly plans: readonly RecordedPlan[] } {
  const plans: RecordedPlan[] = [];
  const dialect = openDialect(url, { poolSize: 5, applicationName: 'test of plans', onIdleError() {} });
  return { db: databaseOn(recording(dialect, plans)), plans };
}

/** Of all dialects of the process: some statements are compiled once, by the first that needs them. */
const queryNames = new WeakMap<QueryId, readonly string[]>();

function recording(dialect: Dialect, plans: RecordedPlan[]): Dialect {
  return {
    ...withNames(dialect, (queryId, names) => void queryNames.set(queryId, names)),
    createDriver: () => recordingDriver(dialect.createDriver(), plans),
  };
}

function recordingDriver(driver: Driver, plans: RecordedPlan[]): Driver {
  const known = new WeakSet<DatabaseConnection>();
  const acquire = driver.acquireConnection.bind(driver);
  driver.acquireConnection = async (options) => {
    const connection = await acquire(options);
    if (known.has(connection)) return connection;
    known.add(connection);
    const execute = connection.executeQuery.bind(connection);
    let inTransaction = false;
    connection.executeQuery = async <Row>(query: CompiledQuery) => {
      if (/^(?:begin|start transaction)/.test(query.sql)) inTransaction = true;
      if (/^(?:commit|rollback)$/.test(query.sql)) inTransaction = false;
      // One that another dialect of the process has compiled is known by who executes it.
      const names = queryNames.get(query.queryId) ?? namesOnStack();
      const [name = 'a list'] = names;
      if (!/^\s*(?:select|with|insert|update|delete)\b/.test(query.sql)) return execute<Row>(query);
      const files = names.map((one) => one.slice(0, one.lastIndexOf('.')));
      const { scans, returned } = await explain(execute, query, inTransaction);
      const result = await execute<Row>(query);
      const longest = Math.max(returned, ...result.rows.map(longestList));
      plans.push({ query: name, files, text: query.sql, scans, returned: longest });
      return result;
    };
    return connection;
  };
  return driver;
}

/** The elements of the longest list in a value; 0: it has none. */
function longestList(value: unknown): number {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return 0;
  const own = Array.isArray(value) ? value.length : 0;
  return Object.values(value).reduce((most: number, part) => Math.max(most, longestList(part)), own);
}

type Executed = Pick<RecordedPlan, 'scans' | 'returned'>;
type Execute = DatabaseConnection['executeQuery'];

/** What a statement touches; it is executed, and taken back. */
async function explain(execute: Execute, query: CompiledQuery, inTransaction: boolean): Promise<Executed> {
  const [before, after] = inTransaction
    ? ['savepoint before_plan', 'rollback to savepoint before_plan']
    : ['begin', 'rollback'];
  await execute(CompiledQuery.raw(before));
  try {
    const text = `explain (analyze, timing off, summary off, format json) ${query.sql}`;
    const { rows } = await execute<{ 'QUERY PLAN': readonly [{ Plan: PlanNode }] }>(
      CompiledQuery.raw(text, [...query.parameters]),
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    return plan ? { scans: scansOf(plan), returned: plan['Actual Rows'] } : { scans: [], returned: 0 };
  } finally {
    await execute(CompiledQuery.raw(after));
  }
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

function scansOf(plan: PlanNode): readonly TableScan[] {
  const below = (plan.Plans ?? []).flatMap(scansOf);
  const table = plan['Relation Name'];
  if (table === undefined || !plan['Node Type'].endsWith('Scan')) return below;
  const met =
    plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0);
  return [{ table, node: plan['Node Type'], rows: met * plan['Actual Loops'] }, ...below];
}
