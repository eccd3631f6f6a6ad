import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../db/client.ts';
import { findCredentials } from '../../db/queries/orgs/credentials.ts';
import { insertWorkspace, listWorkspaces } from '../../db/queries/orgs/workspaces.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import { createOrg } from '../../src/control/orgs/orgs.ts';
import { asOneRequest, openUnderRowSecurity } from '../support/security/row-security.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';

let database: TestDatabase;
let checked: Awaited<ReturnType<typeof openUnderRowSecurity>>;
let ours: Awaited<ReturnType<typeof newOrg>>;
let theirs: Awaited<ReturnType<typeof newOrg>>;

beforeAll(async () => {
  database = await openTestDatabase();
  checked = await openUnderRowSecurity(database.db, database.url, `${new URL(database.url).pathname.slice(1)}_judged`);
  [ours, theirs] = [await newOrg(), await newOrg()];
});
afterAll(async () => {
  await checked[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

async function newOrg() {
  const created = await createOrg(database, { name: 'Test', plan: 'standard', activeConnectionsMax: null });
  return { scope: orgScope(created.org.id), ...created };
}

const workspacesOf = async (db: Db, scope: OrgScope) => Array.fromAsync((await listWorkspaces(db, scope)).rows);
/** As a query would look that forgot the org of its scope. */
const unscoped = (db: Db) => db.selectFrom('workspaces').selectAll().execute();
const unscopedById = (db: Db, id: string | undefined = '') =>
  db.selectFrom('workspaces').selectAll().where('id', '=', id).execute();

describe('under row security a query', () => {
  it('with the org of its scope finds the rows that are there', async () => {
    expect(await workspacesOf(checked.db, ours.scope)).toEqual(await workspacesOf(database.db, ours.scope));
  });

  it('that forgot the org fails, where it would have found rows of everybody', async () => {
    expect(new Set((await unscoped(database.db)).map(({ orgId }) => orgId)).size).toBe(2);
    await expect(unscoped(checked.db)).rejects.toMatchObject({ code: '42501' });
    await expect(unscopedById(checked.db, ours.workspaces[0]?.id)).rejects.toMatchObject({ code: '42501' });
    await expect(checked.db.deleteFrom('workspaces').execute()).rejects.toMatchObject({ code: '42501' });
  });

  it('fails in a transaction too, after others that named their org', async () => {
    const work = checked.db.transaction().execute(async (tx) => {
      await listWorkspaces(tx, ours.scope);
      await unscoped(tx);
    });
    await expect(work).rejects.toMatchObject({ code: '42501' });
  });

  it('that names an org reaches no row of another one', async () => {
    const query = checked.db.selectFrom('workspaces').select('orgId');
    const loose = await query
      .where((eb) => eb.or([eb('orgId', '=', ours.org.id), eb('orgId', '<>', ours.org.id)]))
      .execute();
    expect(new Set(loose.map(({ orgId }) => orgId))).toEqual(new Set([ours.org.id]));
  });

  it('that names an org writes no row of another one', async () => {
    const insert = sql`insert into workspaces (id, org_id, name, kind)
      select 'ws_x', id, 'x', 'dev' from orgs where id <> ${ours.org.id}`;
    await expect(insert.execute(checked.db)).rejects.toMatchObject({ code: '42501' });
  });

  it('that is on the list may do without', async () => {
    const lookupId = ours.apiKey.key.slice(3, 15);
    expect(await findCredentials(checked.db, [lookupId])).toMatchObject([{ orgId: ours.org.id }]);
  });

  it('is refused when it names another org than the credential of its request', async () => {
    const lookupId = ours.apiKey.key.slice(3, 15);
    const request = asOneRequest(async () => {
      await findCredentials(checked.db, [lookupId]);
      await insertWorkspace(checked.db, theirs.scope, { name: 'planted', kind: 'dev' });
    });
    await expect(request).rejects.toThrow('another org than the request');
    expect((await workspacesOf(database.db, theirs.scope)).map(({ name }) => name)).not.toContain('planted');
  });
});

describe('the checking role', () => {
  it('is bound on every table that has rows of orgs', async () => {
    const { rows } = await sql<{ name: string; bound: boolean }>`
      select relname as name, relrowsecurity and relforcerowsecurity as bound
      from pg_class join pg_attribute on attrelid = pg_class.oid and attname = 'org_id'
      where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace`.execute(database.db);
    expect(rows.length).toBeGreaterThan(25);
    expect(rows.filter(({ bound }) => !bound)).toEqual([]);
    const { rows: roles } = await sql<{ free: boolean }>`
      select rolsuper or rolbypassrls as free from pg_roles where rolname = current_user`.execute(checked.db);
    expect(roles).toEqual([{ free: false }]);
  });
});
