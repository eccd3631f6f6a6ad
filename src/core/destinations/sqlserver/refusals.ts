import type { RejectedRow } from '../../model/batch.ts';
import { noRowYet } from '../sql/untouched.ts';
import { type BatchWrite, checkOutcome, claimValues, type WriteOutcome } from './batch-write.ts';
import type { Session, Values } from './driver/session.ts';
import {
  type Checked,
  createReasons,
  missingCheck,
  noRowCheck,
  type Reasons,
  ruleChecks,
  twinCheck,
  valueChecks,
} from './row-checks.ts';
import { isRowError, rowIssue } from './row-errors.ts';
import { readTableRules, type TableRules } from './rules.ts';
import { endsConnection, isConflict } from './server-error.ts';
import { rowsTable } from './staging.ts';
import { withConflictRetries } from './transaction.ts';
import { newSearch, type Search, searchValues, trialsSql } from './trial-sql.ts';
import { isAscii } from './values.ts';

/** Statements for the rules of one table; the trials find the remaining rows. */
const checksMax = 16;
/** Requests of trials, each of five seconds at most or of one trial. */
const trialRequestsMax = 20;

export interface Rejections {
  /** Before the first attempt: checks texts when only the server knows whether their code page has them. */
  checkTexts(): Promise<void>;
  checkRules(error: unknown): Promise<void>;
  checkMissing(): Promise<void>;
  /** Last resort: tries the rows one by one. */
  tryRows(): Promise<void>;
  marked(): Promise<readonly RejectedRow[]>;
}

export function createRejections(session: Session, write: BatchWrite): Rejections {
  const reasons = createReasons();
  const { map, encoded } = write;
  const checked: Checked = { map, writers: encoded.writers, reasons };
  const check = (sql: string) => runCheck(session, { sql, values: { connection: write.connectionId } });
  let twins: readonly number[] = [];
  let isMarked = false;
  let noRow: number | null = null;
  const checkMissing = async () => {
    isMarked = true;
    noRow ??= reasons.note(noRowYet);
    const sql = noRowCheck(map, noRow);
    await withConflictRetries(session, () => session.query(sql, { connection: write.connectionId }));
  };
  return {
    async checkTexts() {
      if (!hasForeignTexts(write)) return;
      isMarked = true;
      for (const sql of valueChecks(checked)) await withConflictRetries(session, () => session.query(sql));
    },
    async checkRules(error) {
      isMarked = true;
      for (const sql of valueChecks(checked)) await check(sql);
      const missing = isRowError(error, 515) ? missingCheck(checked) : null;
      if (missing !== null) await check(missing);
      if (map.prepared.mode === 'update') return;
      const rules = await tolerate(session, () => rulesOf(session, write));
      if (!rules) return;
      for (const sql of ruleChecks(checked, rules).slice(0, checksMax)) await check(sql);
      const twin = twinCheck(checked, rules);
      if (!twin) return;
      twins = twin.issues;
      await check(twin.sql);
    },
    checkMissing,
    async tryRows() {
      isMarked = true;
      if (map.prepared.mode === 'update') await checkMissing();
      await forgetTwins(session, twins);
      await tryRows(session, { write, reasons });
    },
    marked: async () => (isMarked ? await readMarked(session, { write, reasons, noRow }) : []),
  };
}

const hasForeignTexts = ({ encoded: { writers, lists } }: BatchWrite): boolean =>
  writers.some(
    ({ serverCheck }, index) =>
      serverCheck?.kind === 'codePage' &&
      lists[lists.length - writers.length + index]?.some((value) => typeof value === 'string' && !isAscii(value)),
  );

const rulesOf = (session: Session, { map: { prepared } }: BatchWrite): Promise<TableRules> =>
  readTableRules(session, { schema: prepared.schema, table: prepared.written });

/** A failed statement has marked nothing: the trials find its rows. */
async function runCheck(
  session: Session,
  { sql, values }: { readonly sql: string; readonly values: Values },
): Promise<void> {
  await tolerate(session, () => withConflictRetries(session, () => session.query(sql, values)));
}

async function tolerate<Result>(session: Session, work: () => Promise<Result>): Promise<Result | null> {
  try {
    return await work();
  } catch (error) {
    if (!session.isUsable() || endsConnection(error) || isConflict(error)) throw error;
    return null;
  }
}

/**
 * Forgets which rows were refused as duplicates. The first of two rows with the same key was to stay, but it may be refused once
 * others are.
 */
async function forgetTwins(session: Session, issues: readonly number[]): Promise<void> {
  if (issues.length === 0) return;
  await session.query(`update ${rowsTable} set issue = null where issue in (${issues.join(', ')});`);
}

interface Marking {
  readonly write: BatchWrite;
  readonly reasons: Reasons;
}

async function tryRows(session: Session, { write, reasons }: Marking): Promise<void> {
  const { map, encoded, connectionId, opensGeneration } = write;
  const count = encoded.indexes.length;
  const sql = trialsSql({ prepared: map.prepared, writers: encoded.writers, opensGeneration });
  const values = { ...claimValues(write), connection: connectionId, receipt: '', count };
  const prefetch = (search: Search) =>
    withConflictRetries(session, async () => {
      const [tried] = await session.queryAll<Tried>(sql, { ...values, ...searchValues(search) });
      const outcome = tried?.outcome === 'refused' ? 'written' : tried?.outcome;
      await checkOutcome(session, { write, outcome });
      return tried ?? search;
    });
  let search = newSearch(count);
  for (let requests = 0; search.decided < count; requests += 1) {
    if (requests === trialRequestsMax) return await refuseUntried(session, { ...search, reasons });
    search = await prefetch(search);
  }
}

interface Tried extends Search {
  readonly outcome: WriteOutcome | 'refused';
}

/** No record is lost: a refused one fails the run or is quarantined, from where it can be retried. */
async function refuseUntried(
  session: Session,
  { decided, reasons }: { readonly decided: number; readonly reasons: Reasons },
): Promise<void> {
  const issue = reasons.note(
    'This record was not written, because too many records of its batch were refused. Correct those, then retry this record.',
  );
  await session.query(`update ${rowsTable} set issue = ${issue} where issue is null and n >= @decided;`, { decided });
}

interface Marked {
  readonly n: number;
  readonly issue: number;
  readonly reason: string | null;
}

async function readMarked(
  session: Session,
  { write, reasons, noRow }: Marking & { readonly noRow: number | null },
): Promise<readonly RejectedRow[]> {
  const { encoded, batch } = write;
  const marked = new Map((await session.query<Marked>(markedSql)).map((row) => [row.n, row]));
  return encoded.indexes.flatMap((index, n) => {
    const row = marked.get(n);
    if (!row) return [];
    const { issue, reason } = row;
    const message = reasons.messageOf(issue) ?? rowIssue(Object.assign(new Error(reason ?? ''), { number: issue }));
    const externalId = batch.rows[index]?.externalId ?? '';
    return [{ index, externalId, message, ...(issue === noRow && { isAwaited: true }) }];
  });
}

const markedSql = `select n, issue, reason from ${rowsTable} where issue is not null;`;
