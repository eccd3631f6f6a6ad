import { isBatch, isTrials, laneScript } from './script.ts';
import type { RequestReply, TdsScript } from './tds-fake.ts';
import type { TdsRequest } from './tds-requests.ts';
import { runScript, TsqlError, type TsqlServer } from './tsql-script.ts';

/** What a table holds against rows, by their places among those that are staged. */
export interface Refusing {
  /** Against its check `small`. */
  readonly checks?: readonly number[];
  /** With a key that another record has. */
  readonly taken?: readonly number[];
  /** Rows that have one key together: the first of them may stay. */
  readonly twins?: readonly (readonly number[])[];
  /** Refused by a trigger, of which no catalog tells. */
  readonly triggers?: readonly number[];
  /** Too wide for a row of the table. */
  readonly wide?: readonly number[];
  /** Keys that another session takes at the first try, and gives back. */
  readonly races?: readonly number[];
}

/** How the server is. */
interface RefusingOptions {
  /** Milliseconds of a trial. */
  readonly trialMs?: number;
  /** False: the user may not read the rules of the table. */
  readonly tellsRules?: boolean;
}

/** A server with one staged batch at a time, whose table has a check, a unique constraint and a trigger. */
export function refusingScript(
  refusing: Refusing,
  { trialMs = 20, tellsRules = true }: RefusingOptions = {},
): Required<Pick<TdsScript, 'request'>> {
  const table = createTable(refusing, trialMs);
  return laneScript((request) => {
    if (request.kind === 'load') return undefined;
    const { sql } = request;
    if (/drop table if exists #rows;/.test(sql)) table.stage();
    if (request.kind === 'statements' && (isBatch(request) || isTrials(request))) return table.run(request);
    const rules = tellsRules ? ruleRows(sql) : undefined;
    return (
      rules ??
      table.check(sql, decidedOf(request)) ??
      (sql.includes('issue is not null') ? table.marked(sql) : undefined)
    );
  });
}

function ruleRows(sql: string): RequestReply | undefined {
  if (sql.includes('i.ignore_dup_key')) return [{ index_id: 3, name: 'one_n', is_constraint: 1, column_name: 'n' }];
  return sql.includes('from sys.check_constraints') ? [{ name: 'small', definition: '([n]<(100))' }] : undefined;
}

interface Mark {
  readonly issue: number;
  readonly reason: string | null;
}

function createTable(refusing: Refusing, trialMs: number) {
  const { checks, taken, triggers, wide } = {
    wide: new Set(refusing.wide),
    checks: new Set(refusing.checks),
    taken: new Set(refusing.taken),
    triggers: new Set(refusing.triggers),
  };
  const races = new Set(refusing.races);
  const twinOf = new Map(refusing.twins?.flatMap((places) => places.map((n) => [n, places] as const)));
  const marks = new Map<number, Mark>();
  const written = new Set<number>();
  let clock = 0;

  const issueOf = (n: number): TsqlError | null => {
    if (checks.has(n))
      return new TsqlError(547, 'It conflicted with the CHECK constraint "small". The value is secret.');
    const isTwin = twinOf.get(n)?.some((other) => written.has(other)) === true;
    if (taken.has(n) || isTwin || races.delete(n)) {
      return new TsqlError(2627, `Violation of UNIQUE KEY constraint 'one_n'. The value is (secret).`);
    }
    if (wide.has(n)) return new TsqlError(511, 'Cannot create a row of size 9000 which is greater than 8060.');
    return triggers.has(n) ? new TsqlError(50_000, 'Not on my table: secret.') : null;
  };
  const rowsBetween = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => from + index).filter((n) => !marks.has(n));

  const server: TsqlServer = {
    now: () => clock,
    begin: () => {
      clock += trialMs;
      written.clear();
    },
    rollback: () => written.clear(),
    execute(sql, { variables, transactions }) {
      const [at, next, from] = ['@at', '@next', '@from'].map((name) => Number(variables.get(name)));
      if (sql.includes('_css_checkpoint')) return 1;
      if (sql.startsWith('update #rows set issue = @number')) {
        if (transactions > 0) throw new Error('a mark that would be rolled back');
        marks.set(from ?? 0, { issue: Number(variables.get('@number')), reason: String(variables.get('@reason')) });
        return 1;
      }
      // Mode update only updates.
      if (!sql.startsWith('insert into') && !sql.includes('r.given')) return 0;
      const rows = rowsBetween(at ?? 0, next ?? 0);
      for (const n of rows) {
        const issue = issueOf(n);
        if (issue) throw issue;
        written.add(n);
      }
      return rows.length;
    },
    scalar: (_sql, { variables }) => rowsBetween(0, Number(variables.get('@upto'))).length,
  };

  const mark = (sql: string, places: Iterable<number>) => {
    const issue = Number(/set issue = (-\d+)/.exec(sql)?.[1]);
    for (const n of places) if (!marks.has(n)) marks.set(n, { issue, reason: null });
  };
  const laterTwins = (places: readonly number[]) => places.filter((n) => !marks.has(n)).slice(1);

  return {
    stage: () => marks.clear(),
    // Named as the statement names its columns, so that whoever reads other names finds nothing.
    marked: (sql: string) => {
      const [first = '', second = '', third = ''] = /select (.*?) from/.exec(sql)?.[1]?.split(', ') ?? [];
      return [...marks].map(([n, { issue, reason }]) => ({ [first]: n, [second]: issue, [third]: reason }));
    },
    run({ sql, values }: Extract<TdsRequest, { kind: 'statements' }>): RequestReply {
      try {
        return runScript(sql, { values, server }).map(asRow);
      } catch (error) {
        if (!(error instanceof TsqlError)) throw error;
        return { number: error.number, message: error.message };
      }
    },
    /** The statements that mark rows; undefined for others. */
    check(sql: string, decided: number): RequestReply | undefined {
      if (sql.includes('where not (([n]<(100)))')) mark(sql, checks);
      else if (sql.includes('declare @changed')) mark(sql, [...twinOf.values()].flatMap(laterTwins));
      else if (/set issue = -\d+/.test(sql) && sql.includes('as t where t."n" =')) mark(sql, taken);
      else if (sql.includes('set issue = null')) forget(sql, marks);
      else if (sql.includes('n >= @decided')) mark(sql, rowsBetween(decided, placesMax));
      else return undefined;
      return [];
    },
  };
}

/** Rows of the largest batch. */
const placesMax = 5000;

const decidedOf = (request: TdsRequest): number =>
  Number(request.kind === 'statements' ? request.values['decided'] : 0);

function forget(sql: string, marks: Map<number, Mark>): void {
  const issues = new Set([...(/in \((.*)\)/.exec(sql)?.[1] ?? '').matchAll(/-?\d+/g)].map(Number));
  for (const [n, { issue }] of marks) if (issues.has(issue)) marks.delete(n);
}

const asRow = (row: Readonly<Record<string, string | number | boolean | null>>) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === 'boolean' ? Number(value) : value]),
  );
