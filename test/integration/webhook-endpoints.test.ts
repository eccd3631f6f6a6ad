import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recordEvent } from '../../db/queries/webhooks/events.ts';
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

  it('signs with a secret that its maker brings, which no answer holds', async () => {
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

  it('is made once for a repeated Idempotency-Key, whose answer is not given twice', async () => {
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

  it('is judged as a new one is', async () => {
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

describe('rotating the secret', () => {
  it('signs with the new one first, and with the one before until that expires', async () => {
    const { id, secret: before } = await createEndpoint(org, { signatureSchemes: ['v1', 'v1a'] });
    const { publicKey } = await read(id);
    const { status, body } = await rotate(id);
    expect({ status, id: body.id }).toEqual({ status: 200, id });
    expect(Date.parse(body.previousExpiresAt) - Date.now()).toBeGreaterThan(86_000_000);
    const secrets = await secretsOf(id);
    expect(secrets.v1).toEqual([body.secret, before]);
    expect(secrets.v1a).toHaveLength(2);
    const row = await read(id);
    expect(row.secretHint).toBe(body.secret.slice(-4));
    expect(row.publicKey).not.toBe(publicKey);
  });

  it('without an overlap ends the one before at once', async () => {
    const { id } = await createEndpoint(org);
    const secret = `whsec_${base64Of(64)}`;
    const { body } = await rotate(id, { secret, overlapSeconds: 0 });
    expect(body).not.toHaveProperty('secret');
    expect((await secretsOf(id)).v1).toEqual([secret]);
  });

  it('is a conflict while three secrets sign, unless the one before is to end', async () => {
    const { id } = await createEndpoint(org);
    for (const expected of [200, 200, 409]) expect((await rotate(id)).status).toBe(expected);
    expect((await secretsOf(id)).v1).toHaveLength(3);
    expect((await rotate(id, { overlapSeconds: 0 })).status).toBe(200);
    expect((await secretsOf(id)).v1).toHaveLength(3);
    await api.deps.db
      .updateTable('webhookEndpointSecrets')
      .set({ expiresAt: new Date().toISOString() })
      .where('expiresAt', 'is not', null)
      .execute();
    expect((await secretsOf(id)).v1).toHaveLength(1);
    expect((await rotate(id)).status).toBe(200);
  });

  it('is done once for a repeated Idempotency-Key', async () => {
    const { id } = await createEndpoint(org);
    const request = { headers: { 'idempotency-key': 'r' } };
    const again = async () => (await org.call('POST', `/webhook-endpoints/${id}/rotate-secret`, request)).status;
    expect([await again(), await again()]).toEqual([200, 409]);
    expect((await secretsOf(id)).v1).toHaveLength(2);
  });

  it.each([
    ['secret', { secret: 'whsec_short' }],
    ['overlapSeconds', { overlapSeconds: 604_801 }],
    ['overlapSeconds', { overlapSeconds: -1 }],
  ])('is refused at %s: %j', async (path, body) => {
    const { id, secret } = await createEndpoint(org);
    const reply = await rotate(id, body);
    expect(reply).toMatchObject({ status: 400, body: { error: { issues: [{ path }] } } });
    expect((await secretsOf(id)).v1).toEqual([secret]);
  });
});

describe('deleting a webhook endpoint', () => {
  it('removes its secrets and gives up what waits; the log stays', async () => {
    const { id } = await createEndpoint(org);
    await happen(api, org);
    const { body: test } = await org.call('POST', `/webhook-endpoints/${id}/test`);
    expect((await org.call('DELETE', `/webhook-endpoints/${id}`)).body).toEqual({ deleted: true });

    const gone = { status: 404, body: { error: { message: 'Webhook endpoint not found' } } };
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

describe('testing a webhook endpoint', () => {
  const test = (id: string, body?: unknown) => org.call('POST', `/webhook-endpoints/${id}/test`, { body });

  it('asks for one request to it alone, although it is off', async () => {
    const { id } = await createEndpoint(org, { enabled: false });
    await createEndpoint(org, { eventTypes: ['webhook.test'] });
    const { status, body } = await test(id);
    expect(status).toBe(202);
    expect(body).toMatchObject({ eventType: 'webhook.test', url: receiverUrl, statusCode: null, delivered: false });
    const { body: detail } = await org.call('GET', `/webhook-deliveries/${body.id}`);
    expect(detail).toMatchObject({ trigger: 'test', state: 'queued', attempt: 1, endpointId: id, nextAttemptAt: null });
    expect(JSON.parse(detail.payload)).toMatchObject({
      id: detail.eventId,
      type: 'webhook.test',
      data: { endpointId: id },
    });
    const queued = await api.deps.db.selectFrom('webhookMessages').selectAll().where('orgId', '=', org.orgId).execute();
    expect(queued).toEqual([]);
  });

  it('can send the example of any type, each time as another event', async () => {
    const { id } = await createEndpoint(org);
    const deliveries = [await test(id, { eventType: 'run.succeeded' }), await test(id, { eventType: 'run.succeeded' })];
    const details = await Promise.all(
      deliveries.map(async ({ body }) => (await org.call('GET', `/webhook-deliveries/${body.id}`)).body),
    );
    expect(details.map(({ eventType }) => eventType)).toEqual(['run.succeeded', 'run.succeeded']);
    expect(new Set(details.map(({ eventId }) => eventId)).size).toBe(2);
    expect(JSON.parse(details[0].payload).data.run.status).toBe('succeeded');
  });

  it('knows no other type', async () => {
    const { id } = await createEndpoint(org);
    expect(await test(id, { eventType: 'run.exploded' })).toMatchObject({
      status: 400,
      body: { error: { issues: [{ path: 'eventType' }] } },
    });
  });
});

describe('recovering events', () => {
  const dayMs = 24 * 3_600_000;
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
  const recover = (id: string, body: unknown) => org.call('POST', `/webhook-endpoints/${id}/recover`, { body });
  const settle = (eventId: string, status: 'exhausted' | 'succeeded') =>
    api.deps.db
      .updateTable('webhookMessages')
      .set({ status, nextAttemptAt: null, attempts: 12 })
      .where('eventId', '=', eventId)
      .execute();

  it('makes failed, skipped and missing ones due again in their order, and no others', async () => {
    const before = await happen(api, org);
    const unasked = await happen(api, org, 'run.failed');
    const { id } = await createEndpoint(org, { eventTypes: ['run.succeeded'] });
    const [failed, taken, waiting] = [await happen(api, org), await happen(api, org), await happen(api, org)];
    await settle(failed, 'exhausted');
    await settle(taken, 'succeeded');
    await patch(id, { enabled: false });
    const skipped = await happen(api, org);
    await patch(id, { enabled: true });
    await org.call('POST', `/webhook-endpoints/${id}/test`, { body: { eventType: 'run.succeeded' } });

    const { status, body } = await recover(id, { since: ago(dayMs), include: ['failed', 'skipped', 'missing'] });
    expect(status).toBe(202);
    expect(body).toMatchObject({ endpointId: id, status: 'running', total: 3, sent: 0 });
    const messages = await messagesOf(api, id);
    const due = messages.filter(({ recoveryId }) => recoveryId === body.id);
    expect(due.map(({ eventId }) => eventId).toSorted()).toEqual([before, failed, skipped].toSorted());
    expect(due.every(({ status: now, attempts }) => now === 'pending' && attempts === 0)).toBe(true);
    expect(messages.find(({ eventId }) => eventId === waiting)).toMatchObject({ status: 'pending', recoveryId: null });
    expect(messages.map(({ eventId }) => eventId)).not.toContain(unasked);

    await settle(failed, 'succeeded');
    await settle(before, 'exhausted');
    const progress = async () => (await org.call('GET', `/webhook-recoveries/${body.id}`)).body;
    expect(await progress()).toMatchObject({ status: 'running', total: 3, sent: 1 });
    await settle(skipped, 'succeeded');
    expect(await progress()).toMatchObject({ ...body, status: 'finished', sent: 2 });
  });

  it('leaves out what is not asked for, and what is outside the range', async () => {
    await happen(api, org);
    const { id } = await createEndpoint(org, { enabled: false, eventTypes: ['run.succeeded'] });
    await happen(api, org);
    expect((await recover(id, { since: ago(dayMs), include: ['failed'] })).body).toMatchObject({
      status: 'finished',
      total: 0,
    });
    const old = { since: ago(2 * dayMs), until: ago(dayMs), include: ['failed', 'skipped', 'missing'] };
    expect((await recover(id, old)).body.total).toBe(0);
    expect((await recover(id, { since: ago(dayMs), include: ['skipped'] })).body.total).toBe(1);
    expect((await recover(id, { since: ago(dayMs), include: ['missing'] })).body.total).toBe(1);
  });

  it('adds nothing of other orgs', async () => {
    await happen(api, await api.newOrg());
    const { id } = await createEndpoint(org, { eventTypes: ['run.succeeded'] });
    expect((await recover(id, { since: ago(dayMs), include: ['missing'] })).body.total).toBe(0);
  });

  it('never tells an endpoint that it fails itself', async () => {
    const { id } = await createEndpoint(org, { enabled: false, eventTypes: ['endpoint.failing'] });
    const other = await createEndpoint(org, { enabled: false, eventTypes: ['endpoint.failing'] });
    const { db } = api.deps;

    const about = { workspaceId: null, connectionId: null, runId: null, subject: id, data: { endpointId: id } };
    await db
      .transaction()
      .execute((trx) => recordEvent(trx, orgScope(org.orgId), { ...about, type: 'endpoint.failing' }, id));
    expect((await recover(id, { since: ago(dayMs), include: ['missing'] })).body.total).toBe(0);
    expect(await messagesOf(api, other.id)).toHaveLength(1);
  });

  it.each([
    ['since', { since: ago(31 * dayMs), include: ['failed'] }],
    ['since', { since: ago(dayMs), until: ago(2 * dayMs), include: ['failed'] }],
    ['since', { since: 'yesterday', include: ['failed'] }],
    ['since', { include: ['failed'] }],
    ['until', { since: ago(dayMs), until: 'now', include: ['failed'] }],
    ['include', { since: ago(dayMs) }],
    ['include', { since: ago(dayMs), include: [] }],
    ['include.0', { since: ago(dayMs), include: ['all'] }],
  ])('is refused at %s: %j', async (path, body) => {
    const { id } = await createEndpoint(org);
    expect(await recover(id, body)).toMatchObject({
      status: 400,
      body: { error: { code: 'validation', issues: [{ path }] } },
    });
  });
});

describe('the statistics of a webhook endpoint', () => {
  const stats = async (id: string, query = '') =>
    (await org.call('GET', `/webhook-endpoints/${id}/stats${query}`)).body;

  it('are empty for a new one', async () => {
    const { id } = await createEndpoint(org);
    expect(await stats(id)).toEqual({
      window: '24h',
      attempts: 0,
      delivered: 0,
      successRate: null,
      p50Ms: null,
      p95Ms: null,
      pending: 0,
      oldestPendingSeconds: null,
      state: 'ok',
    });
  });

  it('count attempts that are over in the window, and what waits', async () => {
    const { id } = await createEndpoint(org, { eventTypes: ['run.succeeded'] });
    const { db } = api.deps;
    for (const [delivered, durationMs, hoursAgo] of [
      [true, 10, 0],
      [true, 20, 0],
      [true, 30, 0],
      [false, 1000, 2],
    ] as const) {
      const { body } = await org.call('POST', `/webhook-endpoints/${id}/test`);
      const createdAt = new Date(Date.now() - hoursAgo * 3_600_000).toISOString();
      await db
        .updateTable('webhookDeliveries')
        .set({ state: 'done', delivered, durationMs, createdAt })
        .where('id', '=', body.id)
        .execute();
    }
    await org.call('POST', `/webhook-endpoints/${id}/test`);
    const eventId = await happen(api, org);
    const occurredAt = new Date(Date.now() - 90_000).toISOString();
    await db.updateTable('webhookEvents').set({ occurredAt }).where('id', '=', eventId).execute();

    const lastHour = await stats(id, '?window=1h');
    expect(lastHour).toMatchObject({ attempts: 3, delivered: 3, successRate: 1, p50Ms: 20, pending: 1 });
    expect(lastHour.oldestPendingSeconds).toBeGreaterThanOrEqual(90);
    expect(await stats(id)).toMatchObject({ window: '24h', attempts: 4, delivered: 3, successRate: 0.75, p50Ms: 25 });
  });

  it('know no other window', async () => {
    const { id } = await createEndpoint(org);
    expect((await org.call('GET', `/webhook-endpoints/${id}/stats?window=2h`)).status).toBe(400);
  });
});
