/**
 * The database as check of the queries: rows are visible to a statement only where they are of the org that the statement
 * itself names among its values. One that forgets the org of its scope fails as soon as it meets a row, one that names
 * another org than the request it belongs to is refused. Production has no such policies: this finds what is wrong in
 * the queries, it does not make up for it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  type QueryId,
  sql,
} from 'kysely';
import { databaseOn, openDialect } from '../../../db/client.ts';
import type { Database } from '../../../db/schema.ts';
import { queriesAcrossOrgs } from './queries-across-orgs.ts';

/**
 * Puts every table with rows of orgs under policies, and opens the database as a role that they bind. `name` is the
 * role's, made anew and dropped when it is disposed.
 */
export async function openUnderRowSecurity(owner: Kysely<Database>, ownerUrl: string, name: string) {
  await sql`create role ${sql.id(name)} login password ${sql.lit(name)}`.execute(owner);
  await sql.raw(policies).execute(owner);
  await sql`grant select, insert, update, delete on all tables in schema public to ${sql.id(name)}`.execute(owner);
  await sql`grant usage on all sequences in schema public to ${sql.id(name)}`.execute(owner);
  const url = new URL(ownerUrl);
  [url.username, url.password] = [name, name];
  const options = { poolSize: 5, applicationName: 'test under row security', onIdleError() {} };
  const db = databaseOn(namingOrgs(openDialect(url.href, options)));
  return {
    db,
    async [Symbol.asyncDispose]() {
      await db.destroy();
      await sql`drop owned by ${sql.id(name)}`.execute(owner);
      await sql`drop role ${sql.id(name)}`.execute(owner);
    },
  };
}

/** Runs what belongs to one request: all of its statements have to name the same org. */
export const asOneRequest = <Result>(act: () => Result): Result => requests.run({ orgId: null }, act);

const requests = new AsyncLocalStorage<{ orgId: string | null }>();

const policies = `
  create function org_in_force() returns text language plpgsql stable as $$
  begin
    if coalesce(current_setting('app.org_id', true), '') = '' then
      raise 'The statement names no org' using errcode = 'insufficient_privilege';
    end if;
    return current_setting('app.org_id');
  end $$;
  do $$
  declare owned regclass;
  begin
    for owned in
      select attrelid::regclass from pg_attribute join pg_class on pg_class.oid = attrelid
      where attname = 'org_id' and relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
    loop
      execute format('alter table %s enable row level security, force row level security', owned);
      execute format('create policy one_org on %s using (org_in_force() in (org_id, ''*''))', owned);
    end loop;
  end $$;
  -- The org of a fingerprint is that of its lane, which is visible to its org only.
  alter table record_state enable row level security, force row level security;
  create policy one_org on record_state using (exists (select from lanes where lanes.id = lane_id));
  alter table record_partitions enable row level security, force row level security;
  create policy one_org on record_partitions using (exists (select from lanes where lanes.id = lane_id));
  alter table listed_deletions enable row level security, force row level security;
  create policy one_org on listed_deletions using (exists (select from lanes where lanes.id = lane_id))`;

/** Statements that may name no org. Of all dialects of the process: some are compiled once, by the first that needs them. */
const acrossOrgs = new WeakSet<QueryId>();

/** The dialect, with `app.org_id` set before each statement to the org it names; `*` for those that may do without. */
function namingOrgs(dialect: Dialect): Dialect {
  return {
    ...withNames(dialect, (queryId, names) => {
      if (names.some((name) => queriesAcrossOrgs.has(name))) acrossOrgs.add(queryId);
    }),
    createDriver: () => namingDriver(dialect.createDriver(), (query) => acrossOrgs.has(query.queryId)),
  };
}

/** The dialect without its driver; `told` is called with the functions that compile a query, innermost first. */
export function withNames(
  dialect: Dialect,
  told: (queryId: QueryId, names: readonly string[]) => void,
): Omit<Dialect, 'createDriver'> {
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler() {
      const compiler = dialect.createQueryCompiler();
      return {
        // A query is compiled where it is executed, so its function is on the stack.
        compileQuery(node, queryId) {
          told(queryId, namesOnStack());
          return compiler.compileQuery(node, queryId);
        },
      };
    },
  };
}

/** The query functions that are executing, as `folder/file.function`: innermost first. */
export function namesOnStack(): readonly string[] {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 50;
  const { stack = '' } = new Error('where am I');
  Error.stackTraceLimit = stackTraceLimit;
  return [...stack.matchAll(/at (?:async )?(?:\w+\.)*(\w+) \(.*\/db\/queries\/([\w/-]+)\.ts/g)].map(
    ([, name, file]) => `${file}.${name}`,
  );
}

function namingDriver(driver: Driver, isAcrossOrgs: (query: CompiledQuery) => boolean): Driver {
  const naming = new WeakSet<DatabaseConnection>();
  const acquire = driver.acquireConnection.bind(driver);
  driver.acquireConnection = async (options) => {
    const connection = await acquire(options);
    if (naming.has(connection)) return connection;
    naming.add(connection);
    const execute = connection.executeQuery.bind(connection);
    connection.executeQuery = async <Row>(query: CompiledQuery) => {
      if (/^(?:begin|start transaction|commit|rollback|savepoint|release)/.test(query.sql)) return execute<Row>(query);
      const orgId = isAcrossOrgs(query) ? '*' : orgNamedBy(query);
      if (orgId !== '*') noteOrg(orgId);
      await execute(CompiledQuery.raw("select set_config('app.org_id', $1, false)", [orgId ?? '']));
      const result = await execute<Row>(query);
      // A credential was looked up: from here on the request is of its org. Those of requests that come together may be
      // looked up together.
      const [orgOfRows = null, ...others] = orgId === '*' ? new Set(result.rows.map(orgOfRow)) : [];
      if (others.length === 0) noteOrg(orgOfRows);
      return result;
    };
    return connection;
  };
  return driver;
}

/** The org among the values of a statement; null: none. */
function orgNamedBy({ sql: text, parameters }: CompiledQuery): string | null {
  const named = parameters.filter((value): value is string => typeof value === 'string' && /^org_\w{26}$/.test(value));
  const [orgId = null, ...others] = new Set(named);
  if (others.length > 0) throw new Error(`A statement names two orgs: ${text}`);
  return orgId;
}

const orgOfRow = (row: unknown): string | null =>
  typeof row === 'object' && row !== null && 'org_id' in row ? String(row.org_id) : null;

/** Whoever names an org in a request first decides which it is: that is the look-up of its credential. */
function noteOrg(orgId: string | null): void {
  const request = requests.getStore();
  if (!request || orgId === null) return;
  request.orgId ??= orgId;
  if (request.orgId !== orgId) throw new Error('A statement names another org than the request it belongs to');
}
