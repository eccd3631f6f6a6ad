/** Whoever locks several rows locks them in one order: see `lockOrg`. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beginRun } from '../../db/queries/runs/lanes/begin-run.ts';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { insertRun } from '../../db/queries/runs/runs.ts';
import { orgScope } from '../../db/scope.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { newRun } from '../support/service/receipts.ts';
import { holdRows } from '../support/service/sql-gate.ts';
import { createActiveConnection, createConnection, publishSpec } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  await publishSpec(org);
});
afterAll(() => api[Symbol.asyncDispose]());

type Table = 'orgs' | 'connections' | 'runs';

/** Locks a row at once; throws when somebody else has a lock that conflicts. */
const lockNow = (table: Table, id: string, strength = 'no key update') =>
  sql`select from ${sql.table(table)} where id = ${id} for ${sql.raw(strength)} nowait`.execute(api.deps.db);

const hold = (table: Table, id: string) =>
  holdRows(api.databaseUrl, `select from ${table} where id = '${id}' for no key update`);

describe('whoever waits', () => {
  it.each([
    ['schedule', '/schedules', { resourceKey: 'items', cron: '0 * * * *' }],
    ['hook', '/hooks', { resourceKeys: ['items'], verification: { kind: 'none' } }],
  ])('for the org to make a %s has no lock on the connection', async (_name, path, body) => {
    const connectionId = await createConnection(org);
    await using gate = await hold('orgs', org.orgId);
    const made = org.call('POST', `/connections/${connectionId}${path}`, { body });
    await gate.reached();
    await lockNow('connections', connectionId);
    await gate.open();
    expect((await made).status).toBe(201);
  });

  it('for a connection to activate it lets others insert rows of the org', async () => {
    const connectionId = await createConnection(org);
    await using gate = await hold('connections', connectionId);
    const activated = org.call('POST', `/connections/${connectionId}/activate`);
    await gate.reached();
    await lockNow('orgs', org.orgId, 'key share');
    await gate.open();
    expect((await activated).status).toBe(200);
  });

  it('for a connection to break it has no lock on the run', async () => {
    const connectionId = await createActiveConnection(org);
    const { db } = api.deps;
    const scope = orgScope(org.orgId);
    const { id: runId } = await insertRun(db, scope, newRun(connectionId));
    expect((await beginRun(db, scope, runId)).turn).toBe('running');
    await using gate = await hold('connections', connectionId);
    const outcome = { status: 'failed', error: { code: 'auth_failed', message: 'refused' } } as const;
    const ended = endRun(db, scope, { runId, outcome, breaksConnection: true });
    await gate.reached();
    await lockNow('runs', runId);
    await gate.open();
    expect((await ended).run?.status).toBe('failed');
    expect((await org.call('GET', `/connections/${connectionId}`)).body.status).toBe('error');
  });
});
