import { type Catalog, type CatalogOptions, createCatalog } from './catalog.ts';
import { isBatch } from './script.ts';
import type { RequestReply } from './tds-fake.ts';
import type { TdsRequest } from './tds-requests.ts';
import type { TdsRow } from './tds-tokens.ts';

/** A write to a row, in the order in which they were made. */
interface RowWrite {
  readonly table: string;
  readonly operation: 'insert' | 'update' | 'delete';
  readonly externalId: string;
}

/** Temporary tables of a session, by name: rows by column. */
type Staged = ReadonlyMap<string, readonly StagedRow[]>;

/** Values as they were copied: texts and whole numbers, under the names of the temporary table. */
export type StagedRow = Readonly<Record<string, string | number | null>>;

/** The tables of a server with their checkpoint rows: all that outlives a session. */
export interface LaneTables {
  /** Every write that was committed. */
  readonly writes: readonly RowWrite[];
  /** Rows of a table, in the order of their record ids. Values are texts, as they were copied. */
  rows(table: string): readonly TdsRow[];
  /** Carries out a statement in one step, over what the session has staged. */
  execute(request: Exclude<TdsRequest, { kind: 'load' }>, staged: Staged): RequestReply;
}

interface Checkpoint {
  fence: bigint;
  tableId: number | null;
  generation: string;
  runId: string | null;
  batchNo: number;
  receipt: string | null;
}

/** What an engine does for the statements of mode upsert; it responds with error 102 to those that it does not know. */
export function createLaneTables(options: CatalogOptions = {}): LaneTables {
  const catalog = createCatalog(options);
  const checkpoints = new Map<string, Checkpoint>();
  const stored = new Map<string, Map<string, TdsRow>>();
  const writes: RowWrite[] = [];
  const rowsOf = (table: string) => {
    const found = stored.get(table) ?? new Map<string, TdsRow>();
    stored.set(table, found);
    return found;
  };
  const apply = (table: string, row: TdsRow, externalId: string) => {
    const rows = rowsOf(table);
    const key = `${row['_connection_id']}/${externalId}`;
    writes.push({ table, operation: rows.has(key) ? 'update' : 'insert', externalId });
    // A column that the statement does not name keeps its value.
    rows.set(key, { ...rows.get(key), ...row });
  };

  const runBatch = ({ sql, values }: Statements, staged: Staged): RequestReply => {
    const checkpoint = checkpoints.get(String(values['lane']));
    if (!checkpoint || !isTaken(checkpoint, { sql, values })) return [{ outcome: 'lost' }];
    if (!sql.includes('commit transaction')) return unknownStatement;
    const [, table = ''] = /"\w+"\."(\w+)" as t\b/.exec(sql) ?? [];
    const now = new Date().toISOString();
    const taken = sql.includes('from #rows') ? stagedRows(staged) : [];
    const names = columnsOf(sql);
    const isNew = ({ external_id }: StagedRow) => !rowsOf(table).has(`${values['connection']}/${external_id}`);
    // Without the question an insert meets the primary key.
    if (!sql.includes('not exists') && !taken.every(isNew)) return { number: 2627, message: 'Duplicate key.' };
    for (const row of taken) {
      const externalId = String(row['external_id']);
      const own = names.map((name, index): [string, string | number | null] => [name, row[`c${index + 1}`] ?? null]);
      const origin = {
        _connection_id: values['connection'] ?? null,
        _external_id: externalId,
        _run_id: values['run'] ?? null,
      };
      apply(table, { ...origin, _synced_at: now, _deleted_at: null, ...Object.fromEntries(own) }, externalId);
    }
    for (const gone of sql.includes('#deleted as g') ? (staged.get('#deleted') ?? []) : [])
      markDeleted(table, gone, { values, now });
    Object.assign(checkpoint, { runId: values['run'], batchNo: Number(values['batch']), receipt: values['receipt'] });
    return [{ outcome: 'written' }];
  };

  const markDeleted = (
    table: string,
    gone: StagedRow,
    { values, now }: { readonly values: TdsRow; readonly now: string },
  ) => {
    const externalId = String(gone['external_id']);
    const key = `${values['connection']}/${externalId}`;
    const row = rowsOf(table).get(key);
    if (!row) return;
    if (gone['is_hard'] === 1) {
      rowsOf(table).delete(key);
      writes.push({ table, operation: 'delete', externalId });
    } else if (row['_deleted_at'] === null)
      apply(table, { ...row, _run_id: values['run'] ?? null, _deleted_at: now }, externalId);
  };

  const leftovers = ({ sql, values }: Statements): readonly TdsRow[] => {
    const [, table = ''] = /from "\w+"\."(\w+)"/.exec(sql) ?? [];
    const ids = [...rowsOf(table).values()]
      .filter((row) => row['_connection_id'] === values['connection'] && row['_deleted_at'] === null)
      .map((row) => String(row['_external_id']));
    const { after, limit } = values;
    return [...new Set(ids)]
      .toSorted()
      .filter((id) => !sql.includes('> @after') || id > String(after))
      .slice(0, Number(limit))
      .map((id) => ({ id }));
  };

  return {
    writes,
    rows: (table) =>
      [...rowsOf(table).values()].sort((a, b) => (String(a['_external_id']) < String(b['_external_id']) ? -1 : 1)),
    execute(request, staged) {
      const { sql } = request;
      const known = catalog.reply(request);
      if (known) return known;
      if (request.kind === 'batch') return isHousekeeping(sql) ? [] : unknownStatement;
      if (sql.includes('sp_getapplock')) return [{ result: 0 }];
      if (sql.includes('declare @taken')) return claim(request, { checkpoints, catalog });
      if (isBatch(request)) return runBatch(request, staged);
      if (sql.includes('as is_applied')) return held(request, checkpoints);
      if (sql.includes('top (@limit) _external_id')) return leftovers(request);
      return unknownStatement;
    },
  };
}

/** The values of a row may be in several tables, each with its place. */
function stagedRows(staged: Staged): readonly StagedRow[] {
  const byPlace = new Map<unknown, StagedRow>();
  for (const [table, rows] of staged) {
    if (!table.startsWith('#rows')) continue;
    for (const row of rows) byPlace.set(row['n'], { ...byPlace.get(row['n']), ...row });
  }
  return [...byPlace.values()];
}

type Statements = Extract<TdsRequest, { kind: 'statements' }>;

const unknownStatement = { number: 102, message: 'Incorrect syntax: this server does not know the statement.' };

/** Settings, and transactions around what is one step here anyway. */
const isHousekeeping = (sql: string): boolean =>
  /^\s*(set |begin transaction;|commit transaction;|if @@trancount|drop table if exists #|insert bulk \[?#)/i.test(sql);

/** Whether the claim of a batch finds the checkpoint row, compared as its statement says. */
function isTaken({ fence, runId, batchNo }: Checkpoint, { sql, values }: Pick<Statements, 'sql' | 'values'>): boolean {
  const isHeld = !sql.includes('fence = cast(@fence as bigint)') || fence === BigInt(String(values['fence']));
  const comparesBatch = sql.includes('(run_id is null or run_id <> @run or batch_no < @batch)');
  return isHeld && (!comparesBatch || runId !== values['run'] || batchNo < Number(values['batch']));
}

/** The columns of the insert behind those that every table has; the value of the first is c1, and so on. */
function columnsOf(sql: string): readonly string[] {
  const [, names = ''] = /insert into "\w+"\."\w+" \(([^)]*)\)/.exec(sql) ?? [];
  return [...names.matchAll(/"(\w+)"/g)].map(([, name = '']) => name);
}

interface Server {
  readonly checkpoints: Map<string, Checkpoint>;
  readonly catalog: Catalog;
}

function claim({ sql, values }: Statements, { checkpoints, catalog }: Server): readonly TdsRow[] {
  const [, schema = '', table = ''] = /object_id\(N'(\w+)\.(\w+)'\)/.exec(sql) ?? [];
  const [lane, fence, tableId] = [String(values['lane']), BigInt(String(values['fence'])), catalog.idOf(schema, table)];
  const checkpoint = checkpoints.get(lane);
  const generation = String(values['generation']);
  const mayClaimAgain = sql.includes('fence = @held and generation <> @generation');
  const isClaimedAgain = mayClaimAgain && checkpoint?.fence === fence && checkpoint.generation !== generation;
  if (checkpoint && sql.includes('fence < @held') && checkpoint.fence >= fence && !isClaimedAgain) return [];
  const keeps = ['run_id', 'batch_no', 'receipt'].every((name) =>
    sql.includes(`${name} = case when table_id = @table and generation = @generation then ${name} end`),
  );
  const isSame = checkpoint?.tableId === tableId && checkpoint.generation === generation;
  const kept = keeps && isSame ? checkpoint : { runId: null, batchNo: 0, receipt: null };
  const { runId, batchNo, receipt } = kept;
  checkpoints.set(lane, { fence, tableId, generation, runId, batchNo, receipt });
  return [{ run_id: runId, batch_no: runId === null ? null : batchNo, receipt }];
}

function held({ values }: Statements, checkpoints: ReadonlyMap<string, Checkpoint>): readonly TdsRow[] {
  const checkpoint = checkpoints.get(String(values['lane']));
  if (checkpoint?.fence !== BigInt(String(values['fence']))) return [];
  const isApplied = checkpoint.runId === values['run'] && checkpoint.batchNo >= Number(values['batch']);
  return [{ is_applied: isApplied ? 1 : 0 }];
}
