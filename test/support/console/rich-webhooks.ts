import type { Db } from '../../../db/client.ts';
import { hashId } from '../../../src/core/ids.ts';
import type { TestOrg } from '../service/api.ts';
import { idAt } from './past-ids.ts';

interface About {
  readonly connectionId: string;
  readonly runId: string;
}

/** Two endpoints, one of them failing, with the attempts of an hour; ids that pages are about. */
export async function addDeliveries(db: Db, org: TestOrg, about: About) {
  const { body: good } = await org.call('POST', '/webhook-endpoints', {
    body: { url: 'https://93.184.215.14/events', description: 'Product backend' },
  });
  const { body: bad } = await org.call('POST', '/webhook-endpoints', {
    body: {
      url: 'https://93.184.215.14/legacy',
      description: 'Old reporting',
      eventTypes: ['run.failed', 'connection.error'],
    },
  });
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  await db
    .updateTable('webhookEndpoints')
    .set({
      probingSince: hourAgo,
      firstFailureAt: hourAgo,
      consecutiveFailures: 12,
      nextProbeAt: new Date(Date.now() + 240_000).toISOString(),
    })
    .where('id', '=', bad.id)
    .execute();
  await db
    .updateTable('webhookEndpoints')
    .set({ lastSuccessAt: new Date().toISOString() })
    .where('id', '=', good.id)
    .execute();
  const ids = { good: '', bad: '' };
  for (let n = 40; n >= 1; n -= 1) {
    const isBad = n % 5 === 0;
    const endpoint = isBad ? bad : good;
    const at = new Date(Date.now() - n * 83_000);
    const type = isBad
      ? 'run.failed'
      : (['run.succeeded', 'records.quarantined', 'run.succeeded', 'run.partial'][n % 4] ?? '');
    const id = await addDelivery(db, org, { ...about, at, type, endpoint, isBad });
    ids[isBad ? 'bad' : 'good'] = id;
  }
  return {
    endpointId: good.id as string,
    failingEndpointId: bad.id as string,
    deliveryId: ids.good,
    failedDeliveryId: ids.bad,
  };
}

interface Attempt extends About {
  readonly at: Date;
  readonly type: string;
  readonly endpoint: { readonly id: string; readonly url: string };
  readonly isBad: boolean;
}

async function addDelivery(db: Db, { orgId, workspaceId }: TestOrg, attempt: Attempt): Promise<string> {
  const { at, type, endpoint, isBad, connectionId, runId } = attempt;
  const eventId = hashId('evt', [orgId, type, at.toISOString()]);
  const data = {
    runId,
    connectionId,
    resourceKey: 'contacts',
    status: type.slice(4),
    stats: { recordsIn: 420, recordsOut: 418 },
  };
  const payload = Buffer.from(JSON.stringify({ id: eventId, type, timestamp: at.toISOString(), data }));
  await db
    .insertInto('webhookEvents')
    .values({
      orgId,
      id: eventId,
      type,
      workspaceId,
      connectionId,
      runId,
      sequence: null,
      occurredAt: at.toISOString(),
      payload,
      payloadSha256: payload.subarray(0, 32),
    })
    .execute();
  await db
    .insertInto('webhookMessages')
    .values({
      orgId,
      eventId,
      endpointId: endpoint.id,
      status: isBad ? 'pending' : 'succeeded',
      attempts: isBad ? 3 : 1,
      nextAttemptAt: isBad ? new Date(Date.now() + 240_000).toISOString() : null,
    })
    .execute();
  const id = idAt('whd', at);
  await db
    .insertInto('webhookDeliveries')
    .values({
      id,
      orgId,
      eventId,
      endpointId: endpoint.id,
      connectionId,
      runId,
      eventType: type,
      url: endpoint.url,
      attempt: isBad ? 3 : 1,
      trigger: 'auto',
      state: 'done',
      statusCode: isBad ? 503 : 204,
      delivered: !isBad,
      durationMs: isBad ? 2140 : 60 + (at.getTime() % 90),
      errorCode: isBad ? 'http_status' : null,
      createdAt: at.toISOString(),
      startedAt: at.toISOString(),
      finishedAt: at.toISOString(),
      requestHeaders: JSON.stringify({
        'content-type': 'application/json',
        'webhook-id': eventId,
        'webhook-signature': 'v1,***',
      }),
      responseHeaders: JSON.stringify({ server: 'nginx', ...(isBad ? { 'content-type': 'text/html' } : {}) }),
      responseBody: isBad ? '<html><h1>503 Service Temporarily Unavailable</h1></html>' : '',
    })
    .execute();
  return id;
}

/** What a hook was asked of late. */
export async function addHookRequests(
  db: Db,
  { orgId, hookId, connectionId, runId }: About & { readonly orgId: string; readonly hookId: string },
): Promise<void> {
  const results = ['accepted', 'coalesced', 'coalesced', 'accepted', 'duplicate', 'rejected'] as const;
  for (let n = 12; n >= 1; n -= 1) {
    const at = new Date(Date.now() - n * 260_000);
    const status = results[n % results.length] ?? 'accepted';
    const id = idAt('hreq', at);
    const reason = status === 'rejected' ? 'The signature is not valid.' : null;
    await db
      .insertInto('hookRequests')
      .values({ id, orgId, hookId, connectionId, status, reason, receivedAt: at.toISOString() })
      .execute();
    if (status !== 'accepted' && status !== 'coalesced') continue;
    await db
      .insertInto('hookTriggers')
      .values({ requestId: id, orgId, connectionId, resourceKey: 'contacts', pending: false, runId })
      .execute();
  }
}
