import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type OldRows,
  purgeApiKeys,
  purgeDimensions,
  purgeEndpoints,
  purgeEvents,
  purgePages,
  purgeRecoveries,
  purgeResolved,
} from '../../db/queries/maintenance/retention.ts';
import { loadConfig } from '../../src/config/config.ts';
import { newId } from '../../src/core/ids.ts';
import { maintain } from '../../src/maintenance/maintenance.ts';
import { createRetentionSweep } from '../../src/maintenance/retention-sweep.ts';
import {
  agedCalls,
  agedEvent,
  agedKey,
  agedRecord,
  agedRun,
  countAgedRows,
  daysAgo,
  loggedAttempt,
} from '../support/service/aged-rows.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
import { type FilledOrg, fillOrg, openFilledOrg } from '../support/sync/filled-org.ts';
import { createEndpoint } from '../support/webhooks/webhook-rows.ts';

let api: TestApi;
let org: TestOrg;
let connectionId: string;
let endpointId: string;

beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  ({ org, connectionId, endpointId } = await openFilledOrg(api));
});
afterAll(() => api[Symbol.asyncDispose]());

/** One of everything that grows too old, as many days old. */
async function addAged({ of, days }: { readonly of: FilledOrg; readonly days: number }) {
  const { db } = api.deps;
  const ages = { madeDaysAgo: days, endedDaysAgo: days, resolvedDaysAgo: days };
  const runId = await agedRun(api, of.org, { connectionId: of.connectionId, ...ages });
  await agedCalls(api, of.org, { runId, days });
  const eventId = await agedEvent(api, of.org, { days });
  const deliveryId = await loggedAttempt(api, of.org, { eventId, endpointId: of.endpointId });
  const recoveryId = newId('whr');
  const at = daysAgo(days).toISOString();
  await db
    .insertInto('webhookRecoveries')
    .values({
      id: recoveryId,
      orgId: of.org.orgId,
      endpointId: of.endpointId,
      since: at,
      until: at,
      include: [],
      total: 1,
      createdAt: at,
    })
    .execute();
  await db.updateTable('webhookMessages').set({ recoveryId }).where('eventId', '=', eventId).execute();
  const quarantineId = await agedRecord(api, of.org, { connectionId: of.connectionId, ...ages });
  const keyId = await agedKey(api, of.org, { revokedDaysAgo: days });
  return { runId, deliveryId, recoveryId, quarantineId, keyId };
}

const sweep = (days = 90) => createRetentionSweep(api.deps, days)();
const old = (rowsMax = 100): OldRows => ({ before: daysAgo(90), rowsMax });
const read = (path: string) => org.call('GET', path);
const eventIds = async () =>
  (await api.deps.db.selectFrom('webhookEvents').select('id').where('orgId', '=', org.orgId).execute()).map(
    ({ id }) => id,
  );

describe('what is older than it is kept', () => {
  it('goes, of every kind; what is younger stays, and so does another org', async () => {
    const other = await fillOrg(api);
    await addAged({ of: other, days: 89 });
    await addAged({ of: { org, connectionId, endpointId }, days: 89 });
    const [mine, theirs] = [await countAgedRows(api, org), await countAgedRows(api, other.org)];
    expect(Object.values(mine).every((count) => count > 0)).toBe(true);
    await addAged({ of: { org, connectionId, endpointId }, days: 91 });

    await sweep();

    expect(await countAgedRows(api, org)).toEqual({ ...mine, runs: (mine['runs'] ?? 0) + 1 });
    expect(await countAgedRows(api, other.org)).toEqual(theirs);
  });

  it('is kept for as many days as the deployment says', async () => {
    await addAged({ of: { org, connectionId, endpointId }, days: 20 });
    const before = await countAgedRows(api, org);
    await sweep(21);
    expect(await countAgedRows(api, org)).toEqual(before);
    await sweep(19);
    expect(await countAgedRows(api, org)).toMatchObject({ call_log: 0, run_pages: 0, webhook_recoveries: 0, runs: 1 });
  });

  it('reads as if it had never been, but for the run', async () => {
    const { runId, deliveryId, recoveryId, quarantineId, keyId } = await addAged({
      of: { org, connectionId, endpointId },
      days: 91,
    });
    const keyIds = async () => (await read('/api-keys')).body.map(({ id }: { id: string }) => id);
    expect(await keyIds()).toContain(keyId);
    expect((await read(`/runs/${runId}/calls`)).body).toHaveLength(1);
    expect((await read('/webhook-deliveries')).body).toHaveLength(1);
    await sweep();
    expect(await read(`/runs/${runId}/calls`)).toMatchObject({ status: 200, body: [] });
    expect(await read(`/runs/${runId}`)).toMatchObject({ status: 200, body: { statsJson: { recordsIn: 7 } } });
    expect(await read('/webhook-deliveries')).toMatchObject({ status: 200, body: [] });
    expect((await read(`/webhook-deliveries/${deliveryId}`)).status).toBe(404);
    expect((await org.call('POST', `/webhook-deliveries/${deliveryId}/redeliver`)).status).toBe(404);
    expect((await read(`/webhook-recoveries/${recoveryId}`)).status).toBe(404);
    expect((await read(`/quarantine/${quarantineId}`)).status).toBe(404);
    expect(await keyIds()).not.toContain(keyId);
  });

  it('goes while Temporal is away, by the loop of the worker', async () => {
    const { runId } = await addAged({ of: { org, connectionId, endpointId }, days: 41 });
    const stopping = new AbortController();
    const config = loadConfig({ RETENTION_DAYS: '40' });
    const loop = maintain({ ...api.deps, config }, stopping.signal);
    try {
      await eventually('the calls are gone', async () => (await read(`/runs/${runId}/calls`)).body.length === 0);
    } finally {
      stopping.abort();
      await loop;
    }
  });
});

describe('a deleted endpoint', () => {
  const isStored = async (id: string) => {
    const stored = api.deps.db.selectFrom('webhookEndpoints').select('id').where('id', '=', id);
    return (await stored.executeTakeFirst()) !== undefined;
  };
  const deletedFor = async (id: string, days: number) => {
    expect((await org.call('DELETE', `/webhook-endpoints/${id}`)).status).toBe(200);
    const deletedAt = daysAgo(days).toISOString();
    await api.deps.db.updateTable('webhookEndpoints').set({ deletedAt }).where('id', '=', id).execute();
  };

  it('goes when it was deleted so long ago that the log of its deliveries has gone; others stay', async () => {
    const { id: youngerId } = await createEndpoint(org);
    const { id: livingId } = await createEndpoint(org);
    await addAged({ of: { org, connectionId, endpointId }, days: 91 });
    await deletedFor(endpointId, 91);
    await deletedFor(youngerId, 89);
    await sweep();
    expect(await Promise.all([endpointId, youngerId, livingId].map(isStored))).toEqual([false, true, true]);
  });

  it('stays while an attempt, a message or a recovery of it is left', async () => {
    await addAged({ of: { org, connectionId, endpointId }, days: 91 });
    await deletedFor(endpointId, 91);
    const left = ['webhookDeliveries', 'webhookMessages', 'webhookRecoveries'] as const;
    for (const table of left) {
      expect(await purgeEndpoints(api.deps.db, old())).toBe(0);
      await api.deps.db.deleteFrom(table).where('endpointId', '=', endpointId).execute();
    }
    expect(await purgeEndpoints(api.deps.db, old())).toBe(1);
  });
});

it('a previous signing secret goes when it signs no more, by the loop of the worker', async () => {
  const { db } = api.deps;
  const secrets = () =>
    db
      .selectFrom('webhookEndpointSecrets')
      .select(['id', 'expiresAt'])
      .where('endpointId', '=', endpointId)
      .orderBy('id')
      .execute();
  const rotated = async () => {
    expect((await org.call('POST', `/webhook-endpoints/${endpointId}/rotate-secret`)).status).toBe(200);
    return secrets();
  };
  const [first] = await rotated();
  const [, second, third] = await rotated();
  const expiresAt = new Date(Date.now() - 1).toISOString();
  await db
    .updateTable('webhookEndpointSecrets')
    .set({ expiresAt })
    .where('id', '=', first?.id ?? '')
    .execute();
  const stopping = new AbortController();
  const loop = maintain({ ...api.deps, config: loadConfig({}) }, stopping.signal);
  try {
    await eventually('the secret is gone', async () => (await secrets()).length === 2);
  } finally {
    stopping.abort();
    await loop;
  }
  expect(await secrets()).toEqual([second, third]);
});

describe('what stays however old it is', () => {
  it('pages of a run that has not ended, or ended lately', async () => {
    await agedRun(api, org, { connectionId, madeDaysAgo: 200, endedDaysAgo: null, status: 'running' });
    await agedRun(api, org, { connectionId, madeDaysAgo: 200, endedDaysAgo: 1 });
    expect(await purgePages(api.deps.db, old())).toBe(0);
    expect(await purgeDimensions(api.deps.db, old())).toBe(0);
    expect(await countAgedRows(api, org)).toMatchObject({ run_pages: 2, run_dimensions: 2 });
  });

  it('records that are not resolved, or wait for another try', async () => {
    await agedRecord(api, org, { connectionId, madeDaysAgo: 200, resolvedDaysAgo: null });
    await agedRecord(api, org, { connectionId, madeDaysAgo: 200, resolvedDaysAgo: 150, requeued: true });
    await agedRecord(api, org, { connectionId, madeDaysAgo: 200, resolvedDaysAgo: 1 });
    expect(await purgeResolved(api.deps.db, old())).toBe(0);
  });

  it('events with a message that waits, with all of their messages and attempts, which keep no other from going', async () => {
    const { id: otherId } = await createEndpoint(org, { eventTypes: ['run.succeeded'] });
    const eventId = await agedEvent(api, org, { days: 200 });
    await loggedAttempt(api, org, { eventId, endpointId });
    await api.deps.db
      .updateTable('webhookMessages')
      .set({ status: 'pending', nextAttemptAt: daysAgo(0).toISOString() })
      .where('endpointId', '=', otherId)
      .execute();
    const before = await countAgedRows(api, org);
    expect(await purgeEvents(api.deps.db, old())).toBe(0);
    expect(await countAgedRows(api, org)).toEqual(before);
    await agedEvent(api, org, { days: 100 });
    expect(await purgeEvents(api.deps.db, old(1))).toBe(1);
  });

  it.each(['queued', 'sending'] as const)('events with an attempt that is %s', async (state) => {
    const eventId = await agedEvent(api, org, { days: 200 });
    const attemptId = await loggedAttempt(api, org, { eventId, endpointId, state });
    expect(await purgeEvents(api.deps.db, old())).toBe(0);
    await agedEvent(api, org, { days: 100 });
    expect(await purgeEvents(api.deps.db, old(1))).toBe(1);
    expect(await eventIds()).toContain(eventId);
    const done = api.deps.db.updateTable('webhookDeliveries').set({ state: 'done' });
    await done.where('id', '=', attemptId).execute();
    expect(await purgeEvents(api.deps.db, old())).toBe(1);
  });

  it('API keys that are in use, and others of which a key that they have made is left', async () => {
    const maker = await agedKey(api, org, { revokedDaysAgo: 200 });
    const made = await agedKey(api, org, { revokedDaysAgo: 100, createdByKeyId: maker });
    const expiresAt = daysAgo(95).toISOString();
    const expired = await agedKey(api, org, { revokedDaysAgo: null, expiresAt });
    const before = (await countAgedRows(api, org))['api_keys'] ?? 0;
    expect(await purgeApiKeys(api.deps.db, old())).toBe(2);
    const ids = (await read('/api-keys')).body.map(({ id }: { id: string }) => id);
    expect(ids).toContain(maker);
    expect(ids).not.toContain(made);
    expect(ids).not.toContain(expired);
    expect(await purgeApiKeys(api.deps.db, old())).toBe(1);
    expect(await purgeApiKeys(api.deps.db, old())).toBe(0);
    expect((await countAgedRows(api, org))['api_keys']).toBe(before - 3);
  });

  it('recoveries of which a message is left', async () => {
    await addAged({ of: { org, connectionId, endpointId }, days: 200 });
    expect(await purgeRecoveries(api.deps.db, old())).toBe(0);
    expect(await purgeEvents(api.deps.db, old())).toBe(1);
    expect(await purgeRecoveries(api.deps.db, old())).toBe(1);
  });
});
