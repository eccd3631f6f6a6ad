import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { setOrgLimits } from '../../db/queries/orgs/org-limits.ts';
import { orgScope } from '../../db/scope.ts';
import { keptCharsMax } from '../../src/api/gates/kept-response.ts';
import { createApiKey } from '../../src/control/orgs/api-keys.ts';
import { operatorGrant } from '../../src/control/orgs/orgs.ts';
import { makeApiKey } from '../../src/core/crypto/api-key.ts';
import { caseFigure, figure } from '../support/security/figure.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { blockedBy, holdRows, holdWrites } from '../support/service/sql-gate.ts';
import { connectionBody, specDocument } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
});
afterAll(() => api[Symbol.asyncDispose]());

interface ListedKey {
  readonly id: string;
  readonly createdBy: string | null;
}

const keys = async () => (await org.call('GET', '/api-keys')).body;

describe('API keys', () => {
  it('are shown once and work from then on', async () => {
    const { status, body } = await org.call('POST', '/api-keys');
    expect(status).toBe(201);
    expect(body.key).toMatch(/^ck_[0-9A-Za-z]{50}$/);
    expect((await org.call('GET', '/workspaces', { apiKey: body.key })).status).toBe(200);
    const listed = (await keys()).find(({ id }: { id: string }) => id === body.id);
    expect(listed).toMatchObject({ last4: body.key.slice(-4), revokedAt: null, expiresAt: null });
    expect(api.logLines.join('')).not.toContain(body.key);
  });

  it('are refused from the request after their revocation', async () => {
    const { body } = await org.call('POST', '/api-keys');
    const revoked = await org.call('DELETE', `/api-keys/${body.id}`);
    expect(revoked.body.revokedAt).not.toBeNull();
    expect((await org.call('GET', '/workspaces', { apiKey: body.key })).status).toBe(401);
    expect((await org.call('DELETE', `/api-keys/${body.id}`)).body).toEqual(revoked.body);
  });

  it('make keys that have their workspace and live no longer than they do', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const scope = orgScope(org.orgId);
    const parent = await createApiKey(api.deps, scope, { ...operatorGrant, workspaceId: org.workspaceId, expiresAt });
    const { body } = await org.call('POST', '/api-keys', {
      apiKey: parent.key,
      body: { expiresAt: null, scopes: ['*'] },
    });
    const child = (await keys()).find(({ id }: { id: string }) => id === body.id);
    expect(child).toMatchObject({ workspaceId: org.workspaceId, expiresAt });
  });

  it('name the key that made them', async () => {
    const { body: child } = await org.call('POST', '/api-keys');
    const { body: grandchild } = await org.call('POST', '/api-keys', { apiKey: child.key });
    const makers = new Map((await keys()).map(({ id, createdBy }: ListedKey) => [id, createdBy]));
    const first = (await keys()).findLast(({ createdBy }: ListedKey) => createdBy === null);
    expect(makers.get(child.id)).toBe(first.id);
    expect(makers.get(grandchild.id)).toBe(child.id);
  });

  it('are revoked with all that descend from them where that is asked for, and no others', async () => {
    const make = async (apiKey = org.apiKey) => (await org.call('POST', '/api-keys', { apiKey })).body;
    const leaked = await make();
    const made = await make(leaked.key);
    const ofMade = await make(made.key);
    const beside = await make();
    const status = async ({ key }: { key: string }) => (await org.call('GET', '/workspaces', { apiKey: key })).status;

    expect((await org.call('DELETE', `/api-keys/${leaked.id}`)).status).toBe(200);
    expect(await Promise.all([leaked, made, ofMade, beside].map(status))).toEqual([401, 200, 200, 200]);
    // One in between that is revoked hides none below it.
    await org.call('DELETE', `/api-keys/${made.id}?withDescendants=false`);
    expect(await status(ofMade)).toBe(200);
    const revoked = await org.call('DELETE', `/api-keys/${leaked.id}?withDescendants=true`);
    expect(revoked).toMatchObject({ status: 200, body: { id: leaked.id } });
    const statuses = await Promise.all([leaked, made, ofMade, beside].map(status));
    figure('livingKeys', { count: statuses.slice(0, 3).filter((one) => one !== 401).length, of: 3 });
    expect(statuses).toEqual([401, 401, 401, 200]);
    const events = await api.deps.db
      .selectFrom('webhookEvents')
      .select(sql<string>`convert_from(payload, 'UTF8')::jsonb -> 'data' ->> 'apiKeyId'`.as('apiKeyId'))
      .where('type', '=', 'api_key.revoked')
      .execute();
    const told = events.map(({ apiKeyId }) => apiKeyId);
    for (const { id } of [leaked, made, ofMade]) expect(told.filter((one) => one === id)).toHaveLength(1);
    expect((await org.call('DELETE', `/api-keys/${leaked.id}?withDescendants=maybe`)).status).toBe(400);
  });

  it('are revoked with all that descend from them, however many of those are revoked already', async () => {
    const { body: leaked } = await org.call('POST', '/api-keys');
    const { body: last } = await org.call('POST', '/api-keys', { apiKey: leaked.key });
    // More than a statement has parameters for.
    await sql`
      insert into api_keys (id, org_id, lookup_id, key_hash, last4, scopes, created_by_key_id, revoked_at)
      select 'key_' || n, org_id, 'many-' || n, key_hash, last4, scopes, ${leaked.id}, now()
      from api_keys, generate_series(1, 70000) n where id = ${last.id}`.execute(api.deps.db);
    expect((await org.call('DELETE', `/api-keys/${leaked.id}?withDescendants=true`)).status).toBe(200);
    const { status } = await org.call('GET', '/workspaces', { apiKey: last.key });
    caseFigure('livingKeys', status !== 401);
    expect(status).toBe(401);
    await api.deps.db.deleteFrom('apiKeys').where('lookupId', 'like', 'many-%').execute();
  });

  it('make none after their revocation, not even by a request that was on its way', async () => {
    const { body: leaked } = await org.call('POST', '/api-keys');
    const before = (await keys()).length;
    await using gate = await holdWrites(api.databaseUrl, {
      table: 'api_keys',
      on: 'update',
      when: `new.id = '${leaked.id}' and new.revoked_at is not null`,
    });
    const revoking = org.call('DELETE', `/api-keys/${leaked.id}?withDescendants=true`);
    const holder = await gate.reached();
    const late = org.call('POST', '/api-keys', { apiKey: leaked.key });
    await blockedBy(api.databaseUrl, holder);
    await gate.open();
    expect((await revoking).status).toBe(200);
    const { status } = await late;
    caseFigure('livingKeys', status !== 401);
    expect(status).toBe(401);
    expect(await keys()).toHaveLength(before);
  });

  it('expire when they are to, and say so from then on', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { body } = await org.call('POST', '/api-keys', { body: { expiresAt } });
    expect((await keys()).find(({ id }: ListedKey) => id === body.id)).toMatchObject({ expiresAt });
    expect((await org.call('GET', '/workspaces', { apiKey: body.key })).status).toBe(200);
    const past = new Date(Date.now() - 1000).toISOString();
    await api.deps.db.updateTable('apiKeys').set({ expiresAt: past }).where('id', '=', body.id).execute();
    const refused = await org.call('GET', '/workspaces', { apiKey: body.key });
    expect(refused).toMatchObject({ status: 401, body: { error: { code: 'unauthorized' } } });
    expect(refused.body.error.message).toBe(
      `This API key expired at ${past}: create another one with a key that is valid, or ask the operator for one.`,
    );
    // Whoever guesses learns nothing.
    const guessed = makeApiKey().key;
    expect((await org.call('GET', '/workspaces', { apiKey: guessed })).body.error.message).toContain('A valid API key');
  });

  it.each([
    ['has passed', -1000, 'is not in the future'],
    ['is after that of the key that makes it', 7_200_000, 'when the key that creates this one expires'],
  ])('are not made with an expiry that %s', async (_, inMs, why) => {
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const { body: parent } = await org.call('POST', '/api-keys', { body: { expiresAt: inAnHour } });
    const refused = await org.call('POST', '/api-keys', {
      apiKey: parent.key,
      body: { expiresAt: new Date(Date.now() + inMs).toISOString() },
    });
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'validation' } } });
    expect(refused.body.error.issues).toMatchObject([{ path: 'expiresAt', message: expect.stringContaining(why) }]);
  });

  it('that have expired take no room of the limit', async () => {
    const other = await api.newOrg();
    await setOrgLimits(api.deps.db, orgScope(other.orgId), { apiKeys: 2 });
    const { body } = await other.call('POST', '/api-keys');
    expect((await other.call('POST', '/api-keys')).status).toBe(409);
    const past = new Date(Date.now() - 1000).toISOString();
    await api.deps.db.updateTable('apiKeys').set({ expiresAt: past }).where('id', '=', body.id).execute();
    expect((await other.call('POST', '/api-keys')).status).toBe(201);
  });

  it('note their use', async () => {
    const { body } = await org.call('POST', '/api-keys');
    await org.call('GET', '/workspaces', { apiKey: body.key });
    await vi.waitFor(async () => {
      const used = (await keys()).find(({ id }: { id: string }) => id === body.id);
      expect(used.lastUsedAt).not.toBeNull();
    });
  });

  it('note the use by many requests at once in one statement, so that connections are left for the requests', async () => {
    const { body } = await org.call('POST', '/api-keys');
    await using held = await holdRows(api.databaseUrl, `select from api_keys where id = '${body.id}' for update`);
    const read = () => org.call('GET', '/workspaces', { apiKey: body.key });
    const replies = await Promise.all(Array.from({ length: 50 }, read));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    await held.reached();
  });

  it('come in one of two headers, never as two different keys', async () => {
    const { body: other } = await org.call('POST', '/api-keys');
    const ask = async (headers: Record<string, string>) =>
      (await api.app.request('/api/v1/workspaces', { headers })).status;
    const bearer = `Bearer ${org.apiKey}`;
    expect(await ask({ authorization: bearer })).toBe(200);
    expect(await ask({ authorization: `bearer ${org.apiKey}` })).toBe(200);
    expect(await ask({ 'x-api-key': org.apiKey })).toBe(200);
    expect(await ask({ authorization: bearer, 'x-api-key': org.apiKey })).toBe(200);
    expect(await ask({ authorization: bearer, 'x-api-key': other.key })).toBe(401);
    expect(await ask({ authorization: `Bearer ${org.apiKey}, Bearer ${other.key}` })).toBe(401);
    expect(await ask({ authorization: `Basic ${org.apiKey}` })).toBe(401);
    expect(await ask({})).toBe(401);
  });
});

describe('Idempotency-Key', () => {
  const emptyTest = { name: 'long', resource: 'items', expect: {} };
  /** Characters of the response that are kept for a key. */
  const charsKept = async (key: string) => {
    const { response, abridged } = await api.deps.db
      .selectFrom('idempotencyKeys')
      .select(['response', 'abridged'])
      .where('orgId', '=', org.orgId)
      .where('key', '=', key)
      .executeTakeFirstOrThrow();
    return `${response ?? ''}${abridged ?? ''}`.length;
  };
  const post = (path: string, key: string, body?: unknown) =>
    org.call('POST', path, { body, headers: { 'idempotency-key': key } });

  it('gives the first response again', async () => {
    const body = { name: 'Once', kind: 'dev' };
    const first = await post('/workspaces', 'k-once', body);
    const second = await post('/workspaces', 'k-once', body);
    expect(second).toMatchObject({ status: 201, body: first.body });
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(second.headers.get('idempotent-replayed')).toBe('true');
  });

  it('gives a whole spec again, and keeps little of it', async () => {
    const note = 'x'.repeat(60_000);
    const body = {
      ...specDocument({ key: 'kept' }),
      tests: [{ ...emptyTest, mocks: [{ request: {}, respond: { body: note } }] }],
    };
    const first = await post('/specs', 'k-spec', body);
    expect(first.status, JSON.stringify(first.body).slice(0, 300)).toBe(201);
    expect((await org.call('DELETE', '/specs/kept/versions/1.0.0')).status).toBe(200);
    const second = await post('/specs', 'k-spec', body);
    expect(second).toMatchObject({ status: 201, body: first.body });
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect((await org.call('GET', '/specs/kept/versions/1.0.0')).status).toBe(404);
    expect(await charsKept('k-spec')).toBeLessThan(keptCharsMax);
  });

  it('does the work once and says so where the response is too long to be kept', async () => {
    const connectionParams = [{ key: 'query', type: 'string', default: 'x'.repeat(60_000) }];
    const spec = { ...specDocument({ key: 'long-defaults' }), connectionParams };
    expect((await org.call('POST', '/specs', { body: spec })).status).toBe(201);
    expect((await org.call('POST', '/specs/long-defaults/versions/1.0.0/publish')).status).toBe(200);
    const body = connectionBody(org, 'long-defaults');
    const first = await post('/connections', 'k-long', body);
    expect(first.status, JSON.stringify(first.body).slice(0, 300)).toBe(201);
    const second = await post('/connections', 'k-long', body);
    expect([second.status, second.body.error.message]).toEqual([409, expect.stringContaining('too long to be kept')]);
    expect(await charsKept('k-long')).toBe(0);
  });

  it('is a conflict with another body, and free in another org and on another path', async () => {
    await post('/workspaces', 'k-body', { name: 'A body', kind: 'dev' });
    expect(await post('/workspaces', 'k-body', { name: 'Another', kind: 'dev' })).toMatchObject({ status: 409 });
    expect((await post('/api-keys', 'k-body')).status).toBe(201);
    const other = await api.newOrg();
    const headers = { 'idempotency-key': 'k-body' };
    expect((await other.call('POST', '/workspaces', { headers, body: { name: 'Free', kind: 'dev' } })).status).toBe(
      201,
    );
  });

  it('makes one thing of many simultaneous requests', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => post('/workspaces', 'k-race', { name: 'Raced', kind: 'dev' })),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 201));
    expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1);
    expect(replies.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
  });

  it('lets one of many simultaneous requests with different bodies through', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, index) => post('/workspaces', 'k-mixed', { name: `Mixed ${index}`, kind: 'dev' })),
    );
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 409)).toHaveLength(7);
  });

  it('knows a body again whose properties come in another order', async () => {
    const first = await post('/workspaces', 'k-order', { name: 'Ordered', kind: 'dev' });
    const second = await post('/workspaces', 'k-order', { kind: 'dev', name: 'Ordered' });
    expect(second).toMatchObject({ status: 201, body: first.body });
  });

  it('passes to a request that waits when the first is refused', async () => {
    await org.call('POST', '/workspaces', { body: { name: 'Occupied', kind: 'dev' } });
    const replies = await Promise.all(
      Array.from({ length: 4 }, () => post('/workspaces', 'k-passed', { name: 'Occupied', kind: 'dev' })),
    );
    for (const { body } of replies) expect(body.error.message).toContain('workspace of that name');
  });

  it('is given back by a request that was refused', async () => {
    await org.call('POST', '/workspaces', { body: { name: 'Taken', kind: 'dev' } });
    const refused = await post('/workspaces', 'k-refused', { name: 'Taken', kind: 'dev' });
    expect(refused.status).toBe(409);
    expect((await post('/workspaces', 'k-refused', { name: 'Free again', kind: 'dev' })).status).toBe(201);
  });

  it('never shows a key twice', async () => {
    const first = await post('/api-keys', 'k-key');
    const before = (await keys()).length;
    const second = await post('/api-keys', 'k-key');
    expect(first.status).toBe(201);
    expect(second).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    expect(await keys()).toHaveLength(before);
  });

  it('must be printable and at most 255 characters', async () => {
    expect((await post('/workspaces', 'x'.repeat(256), { name: 'Long', kind: 'dev' })).status).toBe(400);
  });
});
