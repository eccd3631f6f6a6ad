import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { orgScope } from '../../db/scope.ts';
import { createApiKeyWithin } from '../../src/control/orgs/api-keys.ts';
import { operatorGrant } from '../../src/control/orgs/orgs.ts';
import { adminFile, runAdmin } from '../support/service/admin.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { laneRuns } from '../support/sync/lane-runs.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const { twoRuns } = laneRuns(() => database.db);

const admin = (...args: readonly string[]) => runAdmin({ ...process.env, DATABASE_URL: database.url }, ...args);

const production = {
  NODE_ENV: 'production',
  SECRETS_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  TEMPORAL_ADDRESS: '127.0.0.1:9',
};

const json = async (...args: readonly string[]) => JSON.parse((await admin(...args, '--json')).stdout);

describe('the operator’s command line', () => {
  it('makes an org that can be used at once, as one JSON document', async () => {
    const made = await json('org', 'create', '--name', 'Acme', '--plan', 'team', '--max-active-connections', '3');
    expect(Object.keys(made)).toEqual(['orgId', 'workspaces', 'apiKey']);
    expect(made.apiKey).toMatch(/^ck_[0-9A-Za-z]{50}$/);
    expect(made.workspaces.map(({ kind }: { kind: string }) => kind)).toEqual(['dev', 'staging', 'prod']);
    expect(await json('org', 'list')).toMatchObject([{ id: made.orgId, plan: 'team', activeConnectionsMax: 3 }]);
  });

  it('finds a connection by the name of its customer, in whichever org it is', async () => {
    const { scope, connectionId } = await twoRuns();
    await database.db
      .updateTable('connections')
      .set({ displayName: 'Acme of Globex', externalCustomerId: 'cus_17' })
      .where('orgId', '=', scope.orgId)
      .where('id', '=', connectionId)
      .execute();
    for (const name of ['globex', 'CUS_17']) {
      expect(await json('connection', 'find', '--name', name)).toMatchObject([
        { id: connectionId, orgId: scope.orgId, displayName: 'Acme of Globex' },
      ]);
    }
    expect(await admin('connection', 'find', '--name', 'nobody')).toMatchObject({
      stdout: 'There is no such connection.\n',
    });
  });

  it('makes, lists and revokes keys, and makes workspaces', async () => {
    const { orgId } = await json('org', 'create', '--name', 'Keys');
    const { id, key } = await json('key', 'create', '--org', orgId, '--expires-in-days', '1');
    const listed = await json('key', 'list', '--org', orgId);
    expect(listed[0]).toMatchObject({ id, last4: key.slice(-4), revokedAt: null });
    expect(Date.parse(listed[0].expiresAt)).toBeGreaterThan(Date.now());
    expect((await json('key', 'revoke', '--org', orgId, '--id', id)).revokedAt).not.toBeNull();
    expect(await admin('key', 'list', '--org', orgId)).toMatchObject({
      stdout: expect.stringContaining('by the operator'),
    });
    expect(await json('workspace', 'create', '--org', orgId, '--name', 'Europe', '--kind', 'prod')).toMatchObject({
      kind: 'prod',
    });
  });

  it('revokes a key with those that it has made, where that is asked for', async () => {
    const { orgId } = await json('org', 'create', '--name', 'Leak');
    const [leaked] = await json('key', 'list', '--org', orgId);
    const grant = { ...operatorGrant, createdByKeyId: leaked.id };
    const scope = orgScope(orgId);
    const made = await database.db.transaction().execute((tx) => createApiKeyWithin(tx, scope, grant));
    expect(await json('key', 'list', '--org', orgId)).toMatchObject([{ createdBy: leaked.id }, { createdBy: null }]);
    const revoke = ['key', 'revoke', '--org', orgId, '--id', leaked.id];
    expect(await json(...revoke)).not.toHaveProperty('descendants');
    expect(await json(...revoke, '--with-descendants')).toMatchObject({
      id: leaked.id,
      descendants: [{ id: made.id, revokedAt: expect.any(String) }],
    });
  });

  it('shows the latest runs of an org, newest first', async () => {
    const { scope, first, second } = await twoRuns();
    const list = (...args: readonly string[]) => json('runs', 'list', '--org', scope.orgId, ...args);
    expect(await list()).toMatchObject([{ id: second, status: 'queued' }, { id: first }]);
    expect(await list('--limit', '1')).toMatchObject([{ id: second }]);
    expect(await list('--status', 'failed')).toEqual([]);
  });

  it('shows each change of the runs of an org until it is ended', async () => {
    const { scope, first, second, begin } = await twoRuns();
    const tail = spawn(process.execPath, [adminFile, 'runs', 'tail', '--org', scope.orgId], {
      env: { ...process.env, DATABASE_URL: database.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines: string[] = [];
    for await (const line of createInterface(tail.stdout)) {
      lines.push(line);
      if (lines.length === 2) await begin(first);
      if (lines.length === 3) tail.kill();
    }
    expect(lines).toEqual([first, second, first].map((id) => expect.stringContaining(id)));
    expect(lines[2]).toContain('running');
  });

  it('makes a database with a login of its own, once, and not in production', async () => {
    const name = `shop_${randomBytes(6).toString('hex')}`;
    const { databaseUrl, egressAllow } = await json('database', 'create', '--name', name);
    expect(databaseUrl).toContain(`@${egressAllow}/${name}`);
    const shop = new pg.Client({ connectionString: databaseUrl });
    await shop.connect();
    await shop.query('create table orders (id int)');
    expect((await shop.query('select current_user as login')).rows).toEqual([{ login: name }]);
    await shop.end();
    expect(await admin('database', 'create', '--name', name)).toMatchObject({
      exitCode: 1,
      stderr: `There is already a database or login "${name}": choose another name.\n`,
    });
    const env = { ...process.env, DATABASE_URL: database.url, ...production };
    expect(await runAdmin(env, 'database', 'create', '--name', 'other')).toMatchObject({
      exitCode: 1,
      stderr: 'In production a destination is never beside the control database.\n',
    });
    await sql`drop database ${sql.id(name)}`.execute(database.db);
    await sql`drop role ${sql.id(name)}`.execute(database.db);
  });

  it('says alone in which folder no service runs, and how to name another', async () => {
    const { DATABASE_URL: _, ...env } = process.env;
    const { exitCode, stderr } = await runAdmin({ ...env, DATA_DIR: '/nowhere' }, 'org', 'list');
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr:
        'No service runs with the folder /nowhere. Start it (npm start), set DATA_DIR as for the one that runs, or set DATABASE_URL.\n',
    });
  });

  it('says how it is used and exits with 2 when it is not understood', async () => {
    for (const args of [
      ['org', 'destroy'],
      ['org', 'create'],
      ['org', 'list', '--bogus'],
      ['key', 'create', '--org'],
      ['runs', 'tail', '--org', 'org_1', '--json'],
    ]) {
      const { exitCode, stdout, stderr } = await admin(...args);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain('Usage: npm run admin');
      // The reason is what a terminal shows last.
      expect(stderr).toMatch(/\n\n(There is no command|Unknown option|--name|--json|Option '--org)[^\n]*\n$/);
    }
    expect((await admin('--help')).exitCode).toBe(0);
  });

  it('exits with 1 and one line when something is not there', async () => {
    const { exitCode, stderr } = await admin('key', 'list', '--org', 'org_nobody');
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'Org not found.\n' });
  });
});
