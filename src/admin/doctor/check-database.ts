import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../../db/client.ts';
import { appliedMigrations, pendingMigrations, unknownMigrations } from '../../../db/migrate.ts';
import { hasCode } from '../../core/error-code.ts';
import { inTime } from '../../core/work/in-time.ts';
import type { Deps } from '../../deps.ts';
import { explainError } from '../explain-error.ts';
import { type Finding, found, ok } from './finding.ts';

/** As `server_version_num`. */
const versionMin = 140_000;
/** Beyond this difference of clocks in milliseconds, leases and times of events may be wrong. */
export const clockMsMax = 2000;
/** Short, so that an unreachable database does not keep the operator waiting. */
const connectMsMax = 10_000;

export async function checkDatabase({ db, config }: Pick<Deps, 'db' | 'config'>): Promise<readonly Finding[]> {
  try {
    const late = Object.assign(new Error('late'), { code: 'ETIMEDOUT' });
    await inTime(sql`select 1`.execute(db), { ms: connectMsMax, late });
  } catch (error) {
    const remedy = 'Check DATABASE_URL, the network, and whether the database runs; then run this command again.';
    return [found('fault', 'database.reached', { detail: explainError(error).split('\n')[0] ?? '', remedy })];
  }
  return [
    ok('database.reached', 'The control database responds.'),
    await checkVersion(db),
    await checkClock(db),
    await checkConnections(db, config.databasePoolSize),
    ...(await checkMigrations(db)),
    await checkRights(db),
  ];
}

async function checkVersion(db: Db): Promise<Finding> {
  const version = await valueOf<number>(db, sql`current_setting('server_version_num')::int`);
  const shown = `PostgreSQL ${Math.floor(version / 10_000)}`;
  if (version >= versionMin) return ok('database.version', `${shown}.`);
  return found('fault', 'database.version', {
    detail: `${shown} is too old.`,
    remedy: 'Use PostgreSQL 14 or later.',
  });
}

async function checkClock(db: Db): Promise<Finding> {
  const before = Date.now();
  const theirs = await valueOf<number>(db, sql`(extract(epoch from clock_timestamp()) * 1000)::float8`);
  return clockFinding('database.clock', { theirMs: theirs, ownMs: (before + Date.now()) / 2, whose: 'the database' });
}

export function clockFinding(
  check: string,
  { theirMs, ownMs, whose }: { readonly theirMs: number; readonly ownMs: number; readonly whose: string },
): Finding {
  const apart = Math.abs(theirMs - ownMs);
  if (apart <= clockMsMax) return ok(check, `The clocks of this machine and of ${whose} differ by less than 2 s.`);
  return found('fault', check, {
    detail: `The clocks of this machine and of ${whose} differ by ${Math.round(apart / 1000)} s.`,
    remedy: 'Let NTP set the clocks of all machines: leases, schedules and signatures depend on them.',
  });
}

async function checkConnections(db: Db, poolSize: number): Promise<Finding> {
  const free = await valueOf<number>(
    db,
    sql`current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int`,
  );
  // At least one API and one worker.
  if (2 * poolSize <= free) return ok('database.connections', `${free} connections for pools of ${poolSize}.`);
  return found('warning', 'database.connections', {
    detail: `The database allows ${free} connections; an API and a worker may open ${2 * poolSize}.`,
    remedy: 'Lower DATABASE_POOL_SIZE, raise max_connections, or put PgBouncer in between.',
  });
}

async function checkMigrations(db: Db): Promise<readonly Finding[]> {
  const applied = await appliedMigrations(db).catch((error: unknown) => {
    if (hasCode(error, '42P01')) return [];
    throw error;
  });
  const [pending, unknown] = [await pendingMigrations(applied), await unknownMigrations(applied)];
  if (unknown.length > 0) {
    return [
      found('fault', 'database.migrations', {
        detail: `The database has migrations that this version does not have: ${unknown.join(', ')}.`,
        remedy: 'Deploy the version that made the database, or a later one.',
      }),
    ];
  }
  if (pending.length === 0) return [ok('database.migrations', 'Every migration is applied.')];
  return [
    found('fault', 'database.migrations', {
      detail: `Migrations are missing: ${pending.join(', ')}.`,
      remedy: 'Run "npm run migrate".',
    }),
  ];
}

/** The user must read and write every table, and own partitioned ones. */
async function checkRights(db: Db): Promise<Finding> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
      and not (has_table_privilege(oid, 'select') and has_table_privilege(oid, 'insert')
        and has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete')
        and (relkind = 'r' or pg_has_role(relowner, 'usage')))
    order by relname`.execute(db);
  const mayCreate = await valueOf<boolean>(db, sql`has_schema_privilege(current_schema(), 'create')`);
  if (rows.length === 0 && mayCreate) return ok('database.rights', 'The user may do what the service does.');
  const tables = rows.map(({ name }) => name);
  const lacks = [
    ...(tables.length > 0 ? [`it may not read, write or partition ${shortList(tables)}`] : []),
    ...(mayCreate ? [] : ['it may not create tables']),
  ];
  return found('fault', 'database.rights', {
    detail: `The user of DATABASE_URL lacks rights: ${lacks.join('; ')}.`,
    remedy: 'Let the role that runs "npm run migrate" own the tables, and let the service use it or a member of it.',
  });
}

const shortList = (names: readonly string[]): string =>
  names.length <= 5 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;

async function valueOf<Value>(db: Db, expression: RawBuilder<unknown>): Promise<Value> {
  const { rows } = await sql<{ value: Value }>`select ${expression} as value`.execute(db);
  if (!rows[0]) throw new Error('The database returned no row.');
  return rows[0].value;
}
