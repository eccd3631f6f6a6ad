import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Db } from '../../db/client.ts';
import { insertRequestedDelivery } from '../../db/queries/webhooks/deliveries.ts';
import { lockEndpoint } from '../../db/queries/webhooks/endpoints.ts';
import { claimDue } from '../../db/queries/webhooks/queue.ts';
import { orgScope } from '../../db/scope.ts';
import { newId } from '../../src/core/ids.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
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

const list = async (query = '') => (await org.call('GET', `/webhook-deliveries${query}`)).body;
const read = async (id: string) => (await org.call('GET', `/webhook-deliveries/${id}`)).body;
const redeliver = (id: string, options: { body?: unknown; headers?: Record<string, string> } = {}) =>
  org.call('POST', `/webhook-deliveries/${id}/redeliver`, options);

/** A delivery of a new endpoint, as an automatic attempt leaves it. */
async function delivered(settings: Readonly<Record<string, unknown>> = {}) {
  const { id: endpointId } = await createEndpoint(org, { eventTypes: ['run.succeeded'], ...settings });
  const eventId = await happen(api, org);
  const id = newId('whd');
  const facts = { eventId, endpointId, eventType: 'run.succeeded', url: receiverUrl, attempt: 1 };
  await api.deps.db
    .insertInto('webhookDeliveries')
    .values({
      ...facts,
      id,
      orgId: org.orgId,
      trigger: 'auto',
      state: 'done',
      statusCode: 503,
      durationMs: 12,
      errorCode: 'http_status',
      requestHeaders: JSON.stringify({ 'webhook-id': eventId, 'webhook-signature': 'v1,***' }),
      responseHeaders: JSON.stringify({ 'content-type': 'text/plain' }),
      responseBody: 'come again',
    })
    .execute();
  return { id, endpointId, eventId };
}

/** Resolves when another session waits for what a transaction holds. */
async function somebodyWaitsFor(tx: Db): Promise<void> {
  const pid = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
  await eventually('somebody waits', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where ${pid.rows[0]?.pid}::int = any(pg_blocking_pids(pid))`.execute(api.deps.db);
    return rows.length > 0;
  });
}

describe('the log of webhook deliveries', () => {
  it('shows each attempt in nine fields, newest first', async () => {
    const { id } = await delivered();
    const { body: second } = await redeliver(id);
    expect(await list()).toEqual([
      second,
      {
        id,
        orgId: org.orgId,
        connectionId: null,
        runId: null,
        eventType: 'run.succeeded',
        url: receiverUrl,
        statusCode: 503,
        delivered: false,
        createdAt: expect.any(String),
      },
    ]);
  });

  it('has 50 elements by default, and 200 at most', async () => {
    const { id: endpointId } = await createEndpoint(org);
    const { body: first } = await org.call('POST', `/webhook-endpoints/${endpointId}/test`);
    const { eventId } = await read(first.id);
    const row = { orgId: org.orgId, eventId, endpointId, eventType: 'webhook.test', url: receiverUrl };
    const values = Array.from({ length: 250 }, (_, index) => ({
      ...row,
      id: newId('whd'),
      attempt: index + 2,
      trigger: 'redelivery' as const,
      state: 'done' as const,
    }));
    await api.deps.db.insertInto('webhookDeliveries').values(values).execute();
    const ids = values.map(({ id }) => id).toReversed();
    expect((await list()).map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 50));
    expect(await list('?limit=1')).toHaveLength(1);
    expect((await list('?limit=200')).map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 200));
    for (const more of ['201', '1000', '99999999999999999999999'])
      expect(await list(`?limit=${more}`)).toHaveLength(200);
  });

  it.each(['0', '-1', 'ten', '1.5', '', '0x10', 'NaN', '%2B5', ' 5'])('refuses the limit %j', async (limit) => {
    expect(await org.call('GET', `/webhook-deliveries?limit=${limit}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'validation', issues: [{ path: 'limit' }] } },
    });
  });

  it('tells everything of one attempt', async () => {
    const { id, endpointId, eventId } = await delivered();
    const [message] = await messagesOf(api, endpointId);
    expect(await read(id)).toMatchObject({
      eventId,
      endpointId,
      attempt: 1,
      trigger: 'auto',
      state: 'done',
      redeliveryOf: null,
      requestHeaders: { 'webhook-id': eventId },
      responseHeaders: { 'content-type': 'text/plain' },
      responseBody: 'come again',
      durationMs: 12,
      errorCode: 'http_status',
      nextAttemptAt: message?.nextAttemptAt,
    });
  });

  it.each([
    ['is probed', { probingSince: '2030-01-01T00:00:00Z', nextProbeAt: '2030-01-01T00:01:00Z' }],
    ['wants a pause', { pausedUntil: '2030-01-01T00:01:00Z' }],
  ])('tells the time of the next attempt at an endpoint that %s', async (_, state) => {
    const { id, endpointId } = await delivered();
    await api.deps.db.updateTable('webhookEndpoints').set(state).where('id', '=', endpointId).execute();
    expect(Date.parse((await read(id)).nextAttemptAt)).toBe(Date.parse('2030-01-01T00:01:00Z'));
  });

  it('holds the payload byte for byte', async () => {
    const { id, eventId } = await delivered();
    const { payload } = await read(id);
    const { payloadSha256 } = await api.deps.db
      .selectFrom('webhookEvents')
      .select('payloadSha256')
      .where('id', '=', eventId)
      .executeTakeFirstOrThrow();
    expect(createHash('sha256').update(payload).digest()).toEqual(payloadSha256);
    expect(JSON.parse(payload).id).toBe(eventId);
  });
});

describe('a redelivery', () => {
  it('is an element of the log at once, although Temporal is away', async () => {
    const { id, endpointId, eventId } = await delivered();
    const { status, body } = await redeliver(id);
    expect(status).toBe(202);
    expect(body).toMatchObject({ eventType: 'run.succeeded', url: receiverUrl, statusCode: null, delivered: false });
    expect(await read(body.id)).toMatchObject({
      eventId,
      endpointId,
      attempt: 2,
      trigger: 'redelivery',
      state: 'queued',
      redeliveryOf: id,
      payload: (await read(id)).payload,
    });
  });

  it('is another one each time, also of a redelivery, and each has its number', async () => {
    const { id } = await delivered();
    const replies = await Promise.all(Array.from({ length: 5 }, () => redeliver(id)));
    const ids = replies.map(({ body }) => body.id);
    const { body: ofLast } = await redeliver(ids[4]);
    const attempts = await Promise.all([...ids, ofLast.id].map(async (one) => (await read(one)).attempt));
    expect(new Set(attempts)).toEqual(new Set([2, 3, 4, 5, 6, 7]));
    expect((await read(ofLast.id)).redeliveryOf).toBe(ids[4]);
  });

  it('and an automatic attempt of the same moment have numbers of their own, the later one the greater', async () => {
    const { id: endpointId } = await createEndpoint(org, { eventTypes: ['run.succeeded'] });
    const eventId = await happen(api, org);
    const { db } = api.deps;
    const scope = orgScope(org.orgId);
    const { askedId, claiming } = await db.transaction().execute(async (tx) => {
      await lockEndpoint(tx, scope, endpointId);
      const asked = { eventId, endpointId, url: receiverUrl, trigger: 'redelivery', redeliveryOf: null } as const;
      const { id } = await insertRequestedDelivery(tx, scope, asked);
      const begun = claimDue(db, scope, { endpointId, limit: 1, leaseMs: 60_000, leaseToken: 'lease' });
      await Promise.race([begun, somebodyWaitsFor(tx)]);
      // In an object: the transaction ends before the claim does.
      return { askedId: id, claiming: begun };
    });
    const [claimed] = await claiming;
    expect([(await read(askedId)).attempt, claimed?.attempt]).toEqual([1, 2]);
  });

  it('is one for a repeated Idempotency-Key', async () => {
    const { id } = await delivered();
    const request = { headers: { 'idempotency-key': 'double click' } };
    const [first, second] = [await redeliver(id, request), await redeliver(id, request)];
    expect(second).toMatchObject({ status: 202, body: first.body });
    expect(await list()).toHaveLength(2);
  });

  it('needs no body and takes an empty one', async () => {
    const { id } = await delivered();
    for (const body of [undefined, '', ' ', {}, { endpointId: null }]) {
      expect((await redeliver(id, { body })).status).toBe(202);
    }
    expect((await redeliver(id, { body: '{' })).status).toBe(400);
    expect((await redeliver(id, { body: [] })).status).toBe(400);
  });

  it('goes to an endpoint that is off, which stays off', async () => {
    const { id, endpointId } = await delivered();
    await org.call('PATCH', `/webhook-endpoints/${endpointId}`, { body: { enabled: false } });
    expect((await redeliver(id)).status).toBe(202);
    expect((await org.call('GET', `/webhook-endpoints/${endpointId}`)).body.enabled).toBe(false);
  });

  it('goes to the address that the endpoint has now', async () => {
    const { id, endpointId } = await delivered();
    const url = 'https://93.184.215.15/moved';
    await org.call('PATCH', `/webhook-endpoints/${endpointId}`, { body: { url } });
    expect((await redeliver(id)).body.url).toBe(url);
    expect((await read(id)).url).toBe(receiverUrl);
  });

  it('goes to the oldest endpoint when the original one is gone, and is a conflict when there is none', async () => {
    const { id, endpointId } = await delivered();
    const [oldest, newer] = [await createEndpoint(org), await createEndpoint(org)];
    await org.call('DELETE', `/webhook-endpoints/${endpointId}`);
    const { body } = await redeliver(id);
    expect(await read(body.id)).toMatchObject({ endpointId: oldest.id, attempt: 1 });
    for (const gone of [oldest, newer]) await org.call('DELETE', `/webhook-endpoints/${gone.id}`);
    expect(await redeliver(id)).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    expect(await list()).toHaveLength(2);
  });

  it('goes to the endpoint that is asked for', async () => {
    const { id, eventId } = await delivered();
    const other = await createEndpoint(org, { eventTypes: ['run.failed'], url: 'https://93.184.215.16/' });
    const { body } = await redeliver(id, { body: { endpointId: other.id } });
    expect(body.url).toBe('https://93.184.215.16/');
    expect(await read(body.id)).toMatchObject({ eventId, endpointId: other.id, attempt: 1 });
    expect(await messagesOf(api, other.id)).toEqual([]);
  });

  it('is refused for an endpoint of another org, or none, and leaves no trace', async () => {
    const { id } = await delivered();
    const theirs = await createEndpoint(await api.newOrg());
    for (const endpointId of [theirs.id, newId('whe')]) {
      expect(await redeliver(id, { body: { endpointId } })).toMatchObject({
        status: 404,
        body: { error: { message: 'Webhook endpoint not found.' } },
      });
    }
    expect(await redeliver(id, { body: { endpointId: 'x' } })).toMatchObject({
      status: 400,
      body: { error: { issues: [{ path: 'endpointId' }] } },
    });
    expect(await list()).toHaveLength(1);
  });

  it('of no delivery is a 404', async () => {
    for (const id of [newId('whd'), 'abc']) {
      expect(await redeliver(id)).toMatchObject({
        status: 404,
        body: { error: { message: 'Webhook delivery not found.' } },
      });
    }
  });
});
