/** An org as an operator meets it: connections of every health, a day of runs, quarantine, deliveries, hooks. */
import { sql } from 'kysely';
import type { Db } from '../../../db/client.ts';
import type { RunStatus } from '../../../src/core/resources/run.ts';
import { seededFractions } from '../random/seeded.ts';
import type { TestApi, TestOrg } from '../service/api.ts';
import { idAt } from './past-ids.ts';
import { addCalls, addPages, addQuarantine, addRecords } from './rich-runs.ts';
import { richSpec, richVersions } from './rich-specs.ts';
import { addDeliveries, addHookRequests } from './rich-webhooks.ts';

/** What pages are about. */
export interface RichOrg {
  readonly connectionId: string;
  readonly failingConnectionId: string;
  readonly errorConnectionId: string;
  /** Has quarantined records. */
  readonly partialConnectionId: string;
  readonly runId: string;
  readonly runningRunId: string;
  readonly failedRunId: string;
  readonly quarantineId: string;
  readonly endpointId: string;
  readonly failingEndpointId: string;
  readonly deliveryId: string;
  readonly failedDeliveryId: string;
  readonly hookId: string;
  readonly keyId: string;
}

const customers: readonly (readonly [name: string, spec: string, version: string, state: State])[] = [
  ['Harbor Logistics', 'crm', '1.1.0', 'healthy'],
  ['Blue Fern Studio', 'crm', '1.1.0', 'healthy'],
  ['Northgate Clinics', 'helpdesk', '2.1.0', 'failing'],
  ['Alder & Finch', 'billing', '1.0.0', 'healthy'],
  ['Meridian Foods', 'crm', '1.0.0', 'partial'],
  ['Kestrel Energy', 'billing', '1.0.0', 'healthy'],
  ['Saltmarsh Hotels', 'helpdesk', '2.1.0', 'syncing'],
  ['Orchard Lane Schools', 'crm', '1.1.0', 'healthy'],
  ['Tallow Street Books', 'billing', '1.0.0', 'paused'],
  ['Copperline Transit', 'helpdesk', '2.1.0', 'healthy'],
  ['Winter & Sons', 'crm', '1.1.0', 'error'],
  ['Fjord Outdoor', 'crm', '1.1.0', 'pending'],
];
type State = 'healthy' | 'failing' | 'partial' | 'syncing' | 'paused' | 'error' | 'pending';
const resourcesOf: Readonly<Record<string, readonly string[]>> = {
  'crm 1.0.0': ['contacts', 'companies'],
  'crm 1.1.0': ['contacts', 'companies', 'deals'],
  'billing 1.0.0': ['invoices', 'payments'],
  'helpdesk 2.1.0': ['tickets', 'agents'],
};
const minuteMs = 60_000;

/** Fills the org; every time is counted back from now. */
export async function fillRichOrg({ deps: { db } }: Pick<TestApi, 'deps'>, org: TestOrg): Promise<RichOrg> {
  for (const { draft, ...facts } of richVersions) {
    expectStatus(201, await org.call('POST', '/specs', { body: richSpec(facts) }));
    if (!draft) expectStatus(200, await org.call('POST', `/specs/${facts.key}/versions/${facts.version}/publish`));
  }
  const random = seededFractions(7);
  const connections = new Map<string, string>();
  // The list shows the newest first.
  for (const [name, spec, version, state] of customers.toReversed()) {
    connections.set(name, await addConnection(db, org, { name, spec, version, state, random }));
  }
  const idOf = (name: string) => connections.get(name) ?? '';
  const [connectionId, failingConnectionId] = [idOf('Harbor Logistics'), idOf('Northgate Clinics')];
  const newest = (of: string, status: string) => newestRun(db, of, status);
  const runId = await newest(connectionId, 'succeeded');
  const runningRunId = await newest(idOf('Saltmarsh Hotels'), 'running');
  const failedRunId = await newest(failingConnectionId, 'failed');
  for (const id of [runId, runningRunId, failedRunId]) {
    await addPages(db, { orgId: org.orgId, id, random });
    await addCalls(db, { orgId: org.orgId, id, isFailed: id === failedRunId });
  }
  await addRecords(db, { connectionId, resourceKey: 'contacts' });
  const quarantineId = await addQuarantine(db, { orgId: org.orgId, connectionId: idOf('Meridian Foods') });
  const { body: hook } = await org.call('POST', `/connections/${connectionId}/hooks`, {
    body: { resourceKeys: ['contacts', 'deals'], verification: { kind: 'standard_webhooks' } },
  });
  await org.call('POST', `/connections/${idOf('Kestrel Energy')}/hooks`, {
    body: { resourceKeys: ['invoices'], verification: { kind: 'stripe' } },
  });
  await addHookRequests(db, { orgId: org.orgId, hookId: hook.id, connectionId, runId });
  const { body: key } = await org.call('POST', '/api-keys');
  const { body: old } = await org.call('POST', '/api-keys');
  await org.call('DELETE', `/api-keys/${old.id}`);
  const deliveries = await addDeliveries(db, org, { connectionId, runId });
  return {
    ...deliveries,
    connectionId,
    failingConnectionId,
    errorConnectionId: idOf('Winter & Sons'),
    partialConnectionId: idOf('Meridian Foods'),
    runId,
    runningRunId,
    failedRunId,
    quarantineId,
    hookId: hook.id,
    keyId: key.id,
  };
}

interface Customer {
  readonly name: string;
  readonly spec: string;
  readonly version: string;
  readonly state: State;
  readonly random: () => number;
}

async function addConnection(db: Db, org: TestOrg, customer: Customer): Promise<string> {
  const { name, spec, version, state, random } = customer;
  const externalCustomerId = `cus_${name.toLowerCase().replace(/[^a-z]+/g, '-')}`;
  const made = await org.call('POST', '/connections', {
    body: {
      workspaceId: org.workspaceId,
      specKey: spec,
      specVersion: version,
      displayName: name,
      externalCustomerId,
      params: { subdomain: externalCustomerId.slice(4) },
      secrets: { token: 'a-token-of-the-customer' },
    },
  });
  expectStatus(201, made);
  const id: string = made.body.id;
  if (state === 'pending') return id;
  await org.call('POST', `/connections/${id}/activate`);
  const resources = resourcesOf[`${spec} ${version}`] ?? [];
  for (const [index, resourceKey] of resources.entries()) {
    const cron = ['*/15 * * * *', '0 */2 * * *', '30 6 * * 1-5'][index] ?? '0 3 * * *';
    if (index < 2)
      expectStatus(
        201,
        await org.call('POST', `/connections/${id}/schedules`, {
          body: { resourceKey, cron, timezone: index === 0 ? 'UTC' : 'Europe/Berlin' },
        }),
      );
    await addLane(db, org.orgId, { connectionId: id, resourceKey, index, state, random, version });
  }
  if (state === 'paused') await org.call('POST', `/connections/${id}/pause`);
  if (state === 'error') {
    await db
      .updateTable('connections')
      .set({ status: 'error', errorSince: new Date().toISOString(), error: refused(resources[0] ?? '') })
      .where('id', '=', id)
      .execute();
  }
  return id;
}

const refused = (resourceKey: string): string =>
  JSON.stringify({
    code: 'auth_failed',
    message: 'The API responded with 401 (status): check the credentials of the connection.',
    resourceKey,
    since: new Date().toISOString(),
    nextTestAt: new Date(Date.now() + 300_000).toISOString(),
  });

interface LaneFacts {
  readonly connectionId: string;
  readonly resourceKey: string;
  /** Of the resource. */
  readonly index: number;
  readonly state: State;
  readonly version: string;
  readonly random: () => number;
}

/** A lane with a day of runs, the oldest first. */
async function addLane(
  db: Db,
  orgId: string,
  { connectionId, resourceKey, index, state, random, version }: LaneFacts,
): Promise<void> {
  const { id: laneId } = await db
    .insertInto('lanes')
    .values({ orgId, connectionId, resourceKey })
    .returning('id')
    .executeTakeFirstOrThrow();
  const runs = index === 0 ? 22 : 8;
  const watermark = new Date(Date.now() - 9 * minuteMs).toISOString();
  await db.insertInto('partitions').values({ orgId, laneId, watermark }).execute();
  for (let n = runs; n >= 1; n -= 1) {
    const isNewest = n === 1;
    const at = new Date(Date.now() - (n - 1) * (1400 / runs) * minuteMs - (3 + random() * 9) * minuteMs);
    const status = statusOf({ state, index, isNewest, random });
    await db
      .insertInto('runs')
      .values(runRow({ orgId, connectionId, resourceKey, laneId, at, status, random, isNewest, watermark, version }))
      .execute();
  }
}

function statusOf({
  state,
  index,
  isNewest,
  random,
}: Pick<LaneFacts, 'state' | 'index' | 'random'> & { isNewest: boolean }): RunStatus {
  if (isNewest && index === 0) {
    if (state === 'failing' || state === 'error') return 'failed';
    if (state === 'partial') return 'partial';
    if (state === 'syncing') return 'running';
    return 'succeeded';
  }
  const luck = random();
  if (state === 'failing') return luck < 0.3 ? 'failed' : 'succeeded';
  if (state === 'partial') return luck < 0.3 ? 'partial' : 'succeeded';
  return luck < 0.015 ? 'failed' : luck < 0.03 ? 'partial' : luck < 0.04 ? 'canceled' : 'succeeded';
}

interface RunFacts extends Omit<LaneFacts, 'index' | 'state'> {
  readonly orgId: string;
  readonly laneId: number;
  readonly at: Date;
  readonly status: RunStatus;
  readonly isNewest: boolean;
  readonly version: string;
  readonly watermark: string;
}

function runRow({ at, status, random, isNewest, watermark, version, ...run }: RunFacts) {
  const read = Math.floor(isNewest ? 4000 + random() * 5000 : 300 + random() * 5200);
  const quarantined = status === 'partial' ? 1 + Math.floor(random() * 6) : 0;
  const skipped = Math.floor((read - quarantined) * random() * 0.4);
  const startedAt = new Date(at.getTime() + 300 + random() * 900);
  const took = isNewest ? 9000 + random() * 50_000 : 900 + random() * 6000;
  const isOpen = status === 'running';
  return {
    ...run,
    id: idAt('run', at),
    trigger: isNewest && isOpen ? ('manual' as const) : ('schedule' as const),
    concurrentMax: 4,
    status,
    createdAt: at.toISOString(),
    dispatchedAt: at.toISOString(),
    startedAt: startedAt.toISOString(),
    finishedAt: isOpen ? null : new Date(startedAt.getTime() + took).toISOString(),
    progressedAt: new Date(startedAt.getTime() + took).toISOString(),
    specVersion: version,
    recordsIn: read,
    recordsOut: read - skipped - quarantined,
    skipped,
    quarantined,
    batchNo: Math.ceil(read / 1000),
    pageNo: Math.ceil(read / 100),
    watermarkBefore: new Date(at.getTime() - 15 * minuteMs).toISOString(),
    watermarkAfter: status === 'succeeded' ? watermark : null,
    ...(status === 'failed'
      ? {
          errorCode: 'auth_failed',
          errorMessage:
            'The API rejected the credentials with status 401: correct the secrets of the connection, then activate it.',
        }
      : {}),
  };
}

async function newestRun(db: Db, connectionId: string, status: string): Promise<string> {
  const run = await db
    .selectFrom('runs')
    .select('id')
    .where('connectionId', '=', connectionId)
    .where(sql<boolean>`status = ${status}`)
    .orderBy('recordsIn', 'desc')
    .executeTakeFirstOrThrow();
  return run.id;
}

function expectStatus(status: number, reply: { readonly status: number; readonly body: unknown }): void {
  if (reply.status !== status) throw new Error(`Expected ${status}: ${JSON.stringify(reply.body)}`);
}
