import { sql } from 'kysely';
import { insertApiKey } from '../../../db/queries/orgs/api-keys.ts';
import { insertCalls } from '../../../db/queries/runs/calls.ts';
import { orgScope } from '../../../db/scope.ts';
import { operatorGrant } from '../../../src/control/orgs/orgs.ts';
import { makeApiKey } from '../../../src/core/crypto/api-key.ts';
import { firstIdAt, newId } from '../../../src/core/ids.ts';
import type { RunStatus } from '../../../src/core/resources/run.ts';
import { happen, receiverUrl } from '../webhooks/webhook-rows.ts';
import type { TestApi, TestOrg } from './api.ts';
import { newCall } from './calls.ts';

type WithDb = Pick<TestApi, 'deps'>;

const dayMs = 86_400_000;
/** No two ids for one time. */
let made = 0;

/** As many days ago. */
export function daysAgo(days: number): Date {
  made += 1;
  return new Date(Date.now() - days * dayMs + made);
}

interface AgedRun {
  readonly connectionId: string;
  readonly madeDaysAgo: number;
  /** Null: it has not ended. */
  readonly endedDaysAgo: number | null;
  readonly status?: RunStatus;
}

/** A run of an age, with a page and a value of a list; its id. */
export async function agedRun(
  { deps: { db } }: WithDb,
  { orgId }: TestOrg,
  { connectionId, madeDaysAgo, endedDaysAgo, status = 'succeeded' }: AgedRun,
): Promise<string> {
  const madeAt = daysAgo(madeDaysAgo);
  const id = firstIdAt('run', madeAt);
  // A lane of its own, of which it may be the running one.
  const lane = { orgId, connectionId, resourceKey: id };
  const { id: laneId } = await db.insertInto('lanes').values(lane).returning('id').executeTakeFirstOrThrow();
  const finishedAt = endedDaysAgo === null ? null : daysAgo(endedDaysAgo).toISOString();
  const times = { createdAt: madeAt.toISOString(), finishedAt };
  await db
    .insertInto('runs')
    .values({ ...lane, ...times, id, laneId, status, trigger: 'manual', concurrentMax: 1, recordsIn: 7 })
    .execute();
  const counts = { recordsIn: 7, recordsOut: 0, skipped: 7, quarantined: 0 };
  const page = { ...counts, orgId, runId: id, pageNo: 1, batchNo: 1, requestKey: 'k' };
  await db.insertInto('runPages').values(page).execute();
  await db
    .insertInto('runDimensions')
    .values({ orgId, runId: id, dimension: 0, no: 0, key: 'a', value: '"a"' })
    .execute();
  return id;
}

/** Makes the schedules of a connection older, since none fires for a time before it was made. */
export async function ageSchedules({ deps: { db } }: WithDb, connectionId: string, createdAt: string): Promise<void> {
  await db.updateTable('schedules').set({ createdAt }).where('connectionId', '=', connectionId).execute();
}

/** Calls of a run, logged as many days ago. */
export async function agedCalls(
  { deps: { db } }: WithDb,
  { orgId }: TestOrg,
  { runId, days, count = 1 }: { readonly runId: string; readonly days: number; readonly count?: number },
): Promise<void> {
  const calls = Array.from({ length: count }, (_, index) => newCall({ runId, sequence: index + 1 }));
  await insertCalls(db, orgScope(orgId), calls);
  const createdAt = daysAgo(days).toISOString();
  await db.updateTable('callLog').set({ createdAt }).where('runId', '=', runId).execute();
}

/** An event that happened as many days ago, with messages for the endpoints of the org as they are; its id. */
export async function agedEvent(
  api: WithDb,
  org: TestOrg,
  { days, status = 'succeeded' }: { readonly days: number; readonly status?: 'succeeded' | 'exhausted' | 'pending' },
): Promise<string> {
  const { db } = api.deps;
  const id = await happen(api, org);
  const occurredAt = daysAgo(days).toISOString();
  await db.updateTable('webhookEvents').set({ occurredAt }).where('id', '=', id).execute();
  const nextAttemptAt = status === 'pending' ? occurredAt : null;
  await db.updateTable('webhookMessages').set({ status, nextAttemptAt }).where('eventId', '=', id).execute();
  return id;
}

interface Attempt {
  readonly eventId: string;
  readonly endpointId: string;
  readonly state?: 'queued' | 'sending' | 'done';
  /** Its id was made so many days ago; 0 unless given. */
  readonly days?: number;
}

/** An attempt to deliver an event, in the log; its id. */
export async function loggedAttempt(
  { deps: { db } }: WithDb,
  { orgId }: TestOrg,
  { state = 'done', days = 0, ...of }: Attempt,
): Promise<string> {
  const id = days === 0 ? newId('whd') : firstIdAt('whd', daysAgo(days));
  const facts = { eventType: 'run.succeeded', url: receiverUrl, attempt: 1, trigger: 'auto' } as const;
  await db
    .insertInto('webhookDeliveries')
    .values({ ...of, ...facts, id, orgId, state })
    .execute();
  return id;
}

interface AgedKey {
  /** Null: it is not revoked. */
  readonly revokedDaysAgo: number | null;
  readonly expiresAt?: string;
  readonly createdByKeyId?: string;
}

/** An API key that is over; its id. */
export async function agedKey(
  { deps: { db } }: WithDb,
  { orgId }: TestOrg,
  { revokedDaysAgo, ...grant }: AgedKey,
): Promise<string> {
  const { key: _key, ...stored } = makeApiKey();
  const { id } = await insertApiKey(db, orgScope(orgId), { ...stored, ...operatorGrant, ...grant });
  const revokedAt = revokedDaysAgo === null ? null : daysAgo(revokedDaysAgo).toISOString();
  await db.updateTable('apiKeys').set({ revokedAt }).where('id', '=', id).execute();
  return id;
}

interface AgedRecord {
  readonly connectionId: string;
  readonly madeDaysAgo: number;
  /** Null: it is not resolved. */
  readonly resolvedDaysAgo: number | null;
  /** It waits for another try. */
  readonly requeued?: boolean;
}

/** A quarantined record; its id. */
export async function agedRecord(
  { deps: { db } }: WithDb,
  { orgId }: TestOrg,
  { connectionId, madeDaysAgo, resolvedDaysAgo, requeued = false }: AgedRecord,
): Promise<string> {
  const id = newId('quar');
  const resolvedAt = resolvedDaysAgo === null ? null : daysAgo(resolvedDaysAgo).toISOString();
  await db
    .insertInto('quarantine')
    .values({
      id,
      orgId,
      connectionId,
      resourceKey: 'items',
      externalId: id,
      rawJson: '{}',
      validationErrors: '[]',
      runId: newId('run'),
      createdAt: daysAgo(madeDaysAgo).toISOString(),
      resolvedAt,
      requeuedAt: requeued ? resolvedAt : null,
    })
    .execute();
  return id;
}

/** How many rows an org has in each table in which rows grow too old, and in some in which they do not. */
export async function countAgedRows({ deps: { db } }: WithDb, { orgId }: TestOrg) {
  const tables = [
    'call_log',
    'run_pages',
    'run_dimensions',
    'webhook_events',
    'webhook_messages',
    'webhook_deliveries',
    'webhook_recoveries',
    'quarantine',
    'api_keys',
    'runs',
    'record_state',
    'partitions',
    'schedules',
  ] as const;
  const counts = tables.map(async (table) => {
    const { rows } = await sql<{ n: number }>`
      select count(*) as n from ${sql.table(table)} where ${ofOrg(table, orgId)}`.execute(db);
    return [table, rows[0]?.n ?? -1] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}

/** Which rows of a table are of an org, as SQL: fingerprints are of the org of their lane. */
export const ofOrg = (table: string, orgId: string) =>
  table === 'record_state' ? sql`lane_id in (select id from lanes where org_id = ${orgId})` : sql`org_id = ${orgId}`;
