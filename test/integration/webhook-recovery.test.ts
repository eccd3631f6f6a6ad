import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recordEvent } from '../../db/queries/webhooks/events.ts';
import { orgScope } from '../../db/scope.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
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
const patch = (id: string, body: unknown) => org.call('PATCH', `/webhook-endpoints/${id}`, { body });

describe('testing a webhook endpoint', () => {
  const test = (id: string, body?: unknown) => org.call('POST', `/webhook-endpoints/${id}/test`, { body });

  it('sends one request to this endpoint only, even when it is disabled', async () => {
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
  const endMessage = (eventId: string, status: 'exhausted' | 'succeeded') =>
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
    await endMessage(failed, 'exhausted');
    await endMessage(taken, 'succeeded');
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

    await endMessage(failed, 'succeeded');
    await endMessage(before, 'exhausted');
    const progress = async () => (await org.call('GET', `/webhook-recoveries/${body.id}`)).body;
    expect(await progress()).toMatchObject({ status: 'running', total: 3, sent: 1 });
    await endMessage(skipped, 'succeeded');
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
      .execute((tx) => recordEvent(tx, orgScope(org.orgId), { ...about, type: 'endpoint.failing' }, id));
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
