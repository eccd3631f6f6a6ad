import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { orgScope } from '../../db/scope.ts';
import { openSigningSecrets } from '../../src/connect/endpoint-secrets.ts';
import { newId } from '../../src/core/ids.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { createConnection, publishSpec } from '../support/upstream/api-fixtures.ts';
import { createEndpoint, happen, messagesOf, receiverUrl } from '../support/webhooks/webhook-rows.ts';

let api: TestApi;
let org: TestOrg;

beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  org = await api.newOrg();
});
afterAll(() => api[Symbol.asyncDispose]());

const post = (body: unknown) => org.call('POST', '/webhook-endpoints', { body });
const read = async (id: string) => (await org.call('GET', `/webhook-endpoints/${id}`)).body;
const patch = (id: string, body: unknown) => org.call('PATCH', `/webhook-endpoints/${id}`, { body });
const rotate = (id: string, body?: unknown) => org.call('POST', `/webhook-endpoints/${id}/rotate-secret`, { body });
const secretsOf = (id: string) => openSigningSecrets(api.deps, api.deps.db, orgScope(org.orgId), id);
const base64Of = (bytes: number) => Buffer.alloc(bytes, 0xfa).toString('base64');

/** Writes what only the delivery of events changes. */
const put = (id: string, columns: Readonly<Record<string, unknown>>) =>
  api.deps.db.updateTable('webhookEndpoints').set(columns).where('id', '=', id).execute();

describe('a webhook endpoint', () => {
  it('is made with a secret that is shown once, and gets every usual event', async () => {
    const { status, body } = await post({ url: receiverUrl });
    expect(status).toBe(201);
    const { secret, ...row } = body;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(row).toEqual({
      id: expect.stringMatching(/^whe_/),
      orgId: org.orgId,
      url: receiverUrl,
      description: null,
      eventTypes: null,
      connectionIds: null,
      workspaceIds: null,
      enabled: true,
      disabledReason: null,
      state: 'ok',
      rateLimitPerSecond: null,
      maxInFlight: 10,
      timeoutMs: 15_000,
      ordering: 'any',
      signatureSchemes: ['v1'],
      secretHint: secret.slice(-4),
      publicKey: null,
      createdAt: expect.any(String),
      lastSuccessAt: null,
      firstFailureAt: null,
    });
    expect(await read(row.id)).toEqual(row);
    expect((await org.call('GET', '/webhook-endpoints')).body).toEqual([row]);
    expect(await secretsOf(row.id)).toMatchObject({ v1: [secret], v1a: [] });
    expect(api.logLines.join('')).not.toContain(secret);
  });

  it('signs with a secret that its maker brings, which no response holds', async () => {
    const secret = `whsec_${base64Of(24)}`;
    const { body } = await post({ url: receiverUrl, secret });
    expect(body).not.toHaveProperty('secret');
    expect((await secretsOf(body.id)).v1).toEqual([secret]);
  });

  it('has the settings that it is given', async () => {
    await publishSpec(org);
    const settings = {
      description: 'Ours',
      eventTypes: ['run.failed', 'api_key.created'],
      connectionIds: [await createConnection(org)],
      workspaceIds: [org.workspaceId],
      enabled: false,
      rateLimitPerSecond: 5,
      maxInFlight: 1,
      timeoutMs: 1000,
      ordering: 'fifo',
      signatureSchemes: ['v1', 'v1a'],
    };
    const body = await createEndpoint(org, settings);
    expect(body).toMatchObject({ ...settings, disabledReason: 'manual', state: 'disabled' });
    expect(body.publicKey).toMatch(/^whpk_/);
    const [privateKey] = (await secretsOf(body.id)).v1a;
    expect(privateKey).toMatch(/^whsk_/);
    expect(JSON.stringify(await read(body.id))).not.toContain(privateKey);
  });

  it('that is verified when it is made is sent a test, and no other is', async () => {
    await post({ url: receiverUrl });
    const { body } = await post({ url: `${receiverUrl}/loud`, verifyOnCreate: true });
    const { body: deliveries } = await org.call('GET', '/webhook-deliveries');
    expect(deliveries).toMatchObject([{ eventType: 'webhook.test', url: body.url, delivered: false }]);
  });

  it('is listed newest first', async () => {
    const made = [await createEndpoint(org), await createEndpoint(org)];
    const listed = (await org.call('GET', '/webhook-endpoints')).body;
    expect(listed.map(({ id }: { id: string }) => id)).toEqual(made.map(({ id }) => id).toReversed());
  });

  it('is made once for a repeated Idempotency-Key, whose response is not given twice', async () => {
    const request = { body: { url: receiverUrl }, headers: { 'idempotency-key': 'one' } };
    expect((await org.call('POST', '/webhook-endpoints', request)).status).toBe(201);
    expect((await org.call('POST', '/webhook-endpoints', request)).status).toBe(409);
    expect((await org.call('GET', '/webhook-endpoints')).body).toHaveLength(1);
  });

  it('is one of ten at most, however many are asked for at once', async () => {
    const replies = await Promise.all(Array.from({ length: 12 }, () => post({ url: receiverUrl })));
    const byStatus = Map.groupBy(replies, ({ status }) => status);
    expect([byStatus.get(201), byStatus.get(409)]).toMatchObject([{ length: 10 }, { length: 2 }]);
    const [{ id }] = (await org.call('GET', '/webhook-endpoints')).body;
    await org.call('DELETE', `/webhook-endpoints/${id}`);
    expect((await post({ url: receiverUrl })).status).toBe(201);
  });
});

describe('a webhook endpoint that is not valid', () => {
  it.each([
    ['url', { url: undefined }],
    ['url', { url: 'hooks.example.com' }],
    ['url', { url: 'ftp://93.184.215.14/' }],
    ['url', { url: 'http://93.184.215.14/' }],
    ['url', { url: 'https://user:pass@93.184.215.14/' }],
    ['url', { url: 'https://93.184.215.14/#part' }],
    ['url', { url: 'https://93.184.215.14/a b' }],
    ['url', { url: `https://93.184.215.14/${'x'.repeat(2048)}` }],
    ['url', { url: 'https://127.0.0.1/' }],
    ['url', { url: 'https://2130706433/' }],
    ['url', { url: 'https://[::ffff:10.0.0.1]/' }],
    ['url', { url: 'https://169.254.169.254/latest' }],
    ['url', { url: 'https://localhost/' }],
    ['url', { url: 'https://93.184.215.14:25/' }],
    ['secret', { secret: 'correct horse' }],
    ['secret', { secret: `whsec_${base64Of(23)}` }],
    ['secret', { secret: `whsec_${base64Of(65)}` }],
    ['secret', { secret: `whsec_${Buffer.alloc(33, 0xff).toString('base64url')}` }],
    ['secret', { secret: `whsec_${'00ff'.repeat(12)}` }],
    ['eventTypes.1', { eventTypes: ['run.failed', 'run.exploded'] }],
    ['eventTypes', { eventTypes: [] }],
    ['eventTypes.1', { eventTypes: ['run.failed', 'run.failed'] }],
    ['connectionIds.0', { connectionIds: ['con_1'] }],
    ['connectionIds.0', { connectionIds: [newId('con')] }],
    ['workspaceIds.0', { workspaceIds: [newId('ws')] }],
    ['rateLimitPerSecond', { rateLimitPerSecond: 0 }],
    ['maxInFlight', { maxInFlight: 65 }],
    ['timeoutMs', { timeoutMs: 999 }],
    ['ordering', { ordering: 'lifo' }],
    ['signatureSchemes', { signatureSchemes: ['v1a'] }],
    ['signatureSchemes.0', { signatureSchemes: ['v2', 'v1'] }],
    ['enabled', { enabled: 'yes' }],
  ])('is refused at %s: %j', async (path, change) => {
    const { status, body } = await post({ url: receiverUrl, ...change });
    expect({ status, code: body.error.code }).toEqual({ status: 400, code: 'validation' });
    expect(body.error.issues).toMatchObject([{ code: 'schema', path }]);
    expect((await org.call('GET', '/webhook-endpoints')).body).toEqual([]);
  });

  it('filters by a connection or a workspace of another org', async () => {
    const other = await api.newOrg();
    await publishSpec(other);
    const connectionIds = [await createConnection(other)];
    const reply = await post({ url: receiverUrl, connectionIds, workspaceIds: [org.workspaceId, other.workspaceId] });
    const paths = reply.body.error.issues.map(({ path }: { path: string }) => path);
    expect(paths).toEqual(['connectionIds.0', 'workspaceIds.1']);
  });
});

describe('changing a webhook endpoint', () => {
  it('leaves what is absent', async () => {
    const { secret: _, ...row } = await createEndpoint(org, { eventTypes: ['run.failed'] });
    const moved = { url: `${receiverUrl}/2`, maxInFlight: 3 };
    expect(await patch(row.id, moved)).toMatchObject({ status: 200, body: { ...row, ...moved } });
    expect((await patch(row.id, {})).body).toEqual({ ...row, ...moved });
    expect((await patch(row.id, { eventTypes: null })).body.eventTypes).toBeNull();
  });

  it('is checked like a new endpoint', async () => {
    const { id } = await createEndpoint(org);
    const issues = async (change: unknown) => (await patch(id, change)).body.error.issues;
    expect(await issues({ url: 'https://10.0.0.1/' })).toMatchObject([{ path: 'url' }]);
    expect(await issues({ connectionIds: [newId('con')] })).toMatchObject([{ path: 'connectionIds.0' }]);
    expect((await read(id)).url).toBe(receiverUrl);
  });

  it('off keeps what waits, and skips what happens meanwhile; on again it begins anew', async () => {
    const { id } = await createEndpoint(org);
    await happen(api, org);
    const off = await patch(id, { enabled: false });
    expect(off.body).toMatchObject({ enabled: false, disabledReason: 'manual', state: 'disabled' });
    await happen(api, org);
    expect(await messagesOf(api, id)).toMatchObject([{ status: 'pending' }, { status: 'skipped' }]);
    const { body } = await patch(id, { enabled: true });
    expect(body).toMatchObject({ enabled: true, disabledReason: null, state: 'ok' });
  });

  it('to enabled rewrites what waits for a retry, and nothing that is due already', async () => {
    const { id } = await createEndpoint(org);
    await happen(api, org);
    await happen(api, org);
    const rowVersions = async () => {
      const { rows } = await sql<{ readonly version: string }>`
        select xmin::text as version from webhook_messages where endpoint_id = ${id} order by seq`.execute(api.deps.db);
      return rows.map(({ version }) => version);
    };
    await sql`
      update webhook_messages set next_attempt_at = now() + interval '1 hour'
      where seq = (select min(seq) from webhook_messages where endpoint_id = ${id})`.execute(api.deps.db);
    const before = await rowVersions();
    await patch(id, { enabled: true });
    const after = await rowVersions();
    expect(after[0]).not.toBe(before[0]);
    expect(after[1]).toBe(before[1]);
    await patch(id, { enabled: true });
    expect(await rowVersions()).toEqual(after);
  });

  it('to enabled forgets failures, probing and pauses', async () => {
    const { id } = await createEndpoint(org);
    const at = new Date().toISOString();
    const failed = { consecutiveFailures: 7, firstFailureAt: at, nextProbeAt: at, sendWindow: 1 };
    await put(id, { ...failed, probingSince: at });
    expect(await read(id)).toMatchObject({ state: 'probing', firstFailureAt: at });
    await put(id, { pausedUntil: new Date(Date.now() + 60_000).toISOString() });
    expect((await read(id)).state).toBe('paused');
    await put(id, { enabled: false, disabledReason: 'gone' });
    expect((await patch(id, { enabled: false })).body.disabledReason).toBe('gone');

    const { body } = await patch(id, { enabled: true });
    expect(body).toMatchObject({ state: 'ok', disabledReason: null, firstFailureAt: null });
    const stored = await api.deps.db.selectFrom('webhookEndpoints').selectAll().where('id', '=', id).execute();
    expect(stored).toMatchObject([{ consecutiveFailures: 0, nextProbeAt: null, sendWindow: null, pausedUntil: null }]);
  });

  it('of its schemes makes and removes the key pair, and keeps the secret', async () => {
    const { id, secret } = await createEndpoint(org);
    const schemes = (signatureSchemes: string[]) => patch(id, { signatureSchemes });
    const first = (await schemes(['v1', 'v1a'])).body.publicKey;
    expect(first).toMatch(/^whpk_/);
    expect((await schemes(['v1', 'v1a'])).body.publicKey).toBe(first);
    expect((await schemes(['v1'])).body.publicKey).toBeNull();
    expect(await secretsOf(id)).toMatchObject({ v1: [secret], v1a: [] });
  });
});

describe('deleting a webhook endpoint', () => {
  it('removes its secrets and gives up what waits; the log stays', async () => {
    const { id } = await createEndpoint(org);
    await happen(api, org);
    const { body: test } = await org.call('POST', `/webhook-endpoints/${id}/test`);
    expect((await org.call('DELETE', `/webhook-endpoints/${id}`)).body).toEqual({ deleted: true });

    const gone = { status: 404, body: { error: { message: 'Webhook endpoint not found.' } } };
    expect(await org.call('DELETE', `/webhook-endpoints/${id}`)).toMatchObject(gone);
    expect(await patch(id, { enabled: true })).toMatchObject(gone);
    expect(await rotate(id)).toMatchObject(gone);
    expect(await org.call('POST', `/webhook-endpoints/${id}/test`)).toMatchObject(gone);
    expect((await org.call('GET', '/webhook-endpoints')).body).toEqual([]);
    await expect(secretsOf(id)).rejects.toMatchObject({ code: 'not_found' });
    const { db } = api.deps;
    const secrets = await db.selectFrom('webhookEndpointSecrets').selectAll().where('endpointId', '=', id).execute();
    expect(secrets).toEqual([]);
    expect(await messagesOf(api, id)).toMatchObject([{ status: 'canceled', nextAttemptAt: null }]);
    const { body: delivery } = await org.call('GET', `/webhook-deliveries/${test.id}`);
    expect(delivery).toMatchObject({ state: 'done', delivered: false, errorCode: 'endpoint_deleted' });
    await happen(api, org);
    expect(await messagesOf(api, id)).toHaveLength(1);
  });
});
