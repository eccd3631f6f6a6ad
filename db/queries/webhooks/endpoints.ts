import { type SqlBool, sql } from 'kysely';
import { firstIdAt, newId } from '../../../src/core/ids.ts';
import type {
  WebhookEndpointRow,
  WebhookEndpointState,
  WebhookEndpointStats,
} from '../../../src/core/resources/webhook-endpoint.ts';
import type { Db } from '../../client.ts';
import { countRows, type Listing, openNewestFirst } from '../../listing.ts';
import type { OrgScope } from '../../scope.ts';

/** State of a row of `webhook_endpoints` that is not deleted. */
export const endpointState = sql<WebhookEndpointState>`case
  when not enabled then 'disabled'
  when paused_until > now() then 'paused'
  when probing_since is not null then 'probing'
  else 'ok' end`;

const columns = [
  'id',
  'orgId',
  'url',
  'description',
  'eventTypes',
  'connectionIds',
  'workspaceIds',
  'enabled',
  'disabledReason',
  endpointState.as('state'),
  'rateLimitPerSecond',
  'maxInFlight',
  'timeoutMs',
  'ordering',
  'signatureSchemes',
  ofCurrentSecret<string>('v1', 'hint').as('secretHint'),
  ofCurrentSecret<string | null>('v1a', 'public_key').as('publicKey'),
  'createdAt',
  'lastSuccessAt',
  'firstFailureAt',
] as const;

function ofCurrentSecret<Value>(scheme: 'v1' | 'v1a', column: 'hint' | 'public_key') {
  return sql<Value>`(
    select ${sql.ref(column)} from webhook_endpoint_secrets
    where endpoint_id = webhook_endpoints.id and scheme = ${scheme} and expires_at is null)`;
}

export type EndpointSettings = Pick<
  WebhookEndpointRow,
  | 'url'
  | 'description'
  | 'eventTypes'
  | 'connectionIds'
  | 'workspaceIds'
  | 'enabled'
  | 'rateLimitPerSecond'
  | 'maxInFlight'
  | 'timeoutMs'
  | 'ordering'
  | 'signatureSchemes'
>;

export type EndpointChange = { readonly [Name in keyof EndpointSettings]?: EndpointSettings[Name] | undefined };

/** Locks the org until the transaction ends, so that two requests do not both take the last place. */
export async function lockEndpointCount(tx: Db, scope: OrgScope): Promise<number> {
  await tx.selectFrom('orgs').select('id').where('id', '=', scope.orgId).forNoKeyUpdate().execute();
  return countRows(existing(tx, scope));
}

/** Returns the id of an endpoint that has no secrets yet. */
export async function insertEndpoint(tx: Db, scope: OrgScope, settings: EndpointSettings): Promise<string> {
  const { id } = await tx
    .insertInto('webhookEndpoints')
    .values({
      ...settings,
      id: newId('whe'),
      orgId: scope.orgId,
      disabledReason: settings.enabled ? null : 'manual',
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** `undefined` if absent, deleted or of another org. */
export function findEndpoint(db: Db, scope: OrgScope, id: string): Promise<WebhookEndpointRow | undefined> {
  return existing(db, scope).select(columns).where('id', '=', id).executeTakeFirst();
}

/** Deletions, rotations and requests to send wait for the transaction. */
export function lockEndpoint(tx: Db, scope: OrgScope, id: string): Promise<WebhookEndpointRow | undefined> {
  return existing(tx, scope).select(columns).where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

export function lockOldestEndpoint(tx: Db, scope: OrgScope): Promise<WebhookEndpointRow | undefined> {
  return existing(tx, scope).select(columns).orderBy('id').limit(1).forNoKeyUpdate().executeTakeFirst();
}

export function listEndpoints(db: Db, scope: OrgScope): Promise<Listing<WebhookEndpointRow>> {
  return openNewestFirst(existing(db, scope).select(columns));
}

export interface EndpointCount extends Pick<WebhookEndpointRow, 'state' | 'disabledReason'> {
  readonly endpoints: number;
}

export async function countAllEndpoints(db: Db): Promise<readonly EndpointCount[]> {
  const { rows } = await sql<EndpointCount>`
    select ${endpointState} as state, disabled_reason, count(*)::int as endpoints
    from webhook_endpoints where deleted_at is null group by 1, 2`.execute(db);
  return rows;
}

const existing = (db: Db, { orgId }: OrgScope) =>
  db.selectFrom('webhookEndpoints').where('orgId', '=', orgId).where('deletedAt', 'is', null);

const healthy = {
  disabledReason: null,
  consecutiveFailures: 0,
  firstFailureAt: null,
  probingSince: null,
  nextProbeAt: null,
  pausedUntil: null,
  sendWindow: null,
};

/**
 * Changes an endpoint that {@link lockEndpoint} found in this transaction. `enabled: true` forgets its failures and makes waiting
 * retries due at once.
 */
export async function changeEndpoint(
  tx: Db,
  scope: OrgScope,
  { id, ...change }: EndpointChange & { readonly id: string },
): Promise<void> {
  const disabled = { disabledReason: sql<'manual'>`coalesce(disabled_reason, 'manual')` };
  const health = change.enabled === undefined ? {} : change.enabled ? healthy : disabled;
  await tx
    .updateTable('webhookEndpoints')
    .set((eb) => ({ ...change, ...health, url: change.url ?? eb.ref('url') }))
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute();
  if (change.enabled) await makeAllDue(tx, scope, id);
}

/** Leaves out messages that are being sent or are due already. */
export async function makeAllDue(tx: Db, scope: OrgScope, endpointId: string): Promise<void> {
  await sql`
    update webhook_messages set next_attempt_at = now()
    where org_id = ${scope.orgId} and endpoint_id = ${endpointId} and status = 'pending' and lease_until is null
      and next_attempt_at > now()`.execute(tx);
}

/**
 * Waits for transactions that record an event for an endpoint about to be deleted or disabled, and keeps others out. So a later
 * statement of this transaction sees every message that was made for an open endpoint.
 */
export async function closeToEvents(tx: Db, scope: OrgScope, id: string): Promise<void> {
  // Two such transactions may each notify the endpoint of the other, and would deadlock.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`endpoints of ${scope.orgId}`}, 0))`.execute(tx);
  await existing(tx, scope).select('id').where('id', '=', id).forUpdate().execute();
}

/**
 * Deletes an endpoint that {@link lockEndpoint} found in this transaction; `deleteSigningSecrets` removes its secrets. Its log
 * stays.
 */
export async function markEndpointDeleted(tx: Db, scope: OrgScope, id: string): Promise<void> {
  await closeToEvents(tx, scope, id);
  await tx
    .updateTable('webhookEndpoints')
    .set({ deletedAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute();
  await tx
    .updateTable('webhookMessages')
    .set({ status: 'canceled', nextAttemptAt: null, leaseUntil: null, leaseToken: null })
    .where('orgId', '=', scope.orgId)
    .where('endpointId', '=', id)
    .where('status', '=', 'pending')
    .execute();
  await tx
    .updateTable('webhookDeliveries')
    .set({ state: 'done', errorCode: 'endpoint_deleted', finishedAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where('endpointId', '=', id)
    .where('state', '=', 'queued')
    .execute();
}

/** Ids that do not belong to a live connection, or to a workspace, of the org. */
export async function findUnknownIds(
  db: Db,
  scope: OrgScope,
  { table, ids }: { readonly table: 'connections' | 'workspaces'; readonly ids: readonly string[] },
): Promise<ReadonlySet<string>> {
  const isLive = table === 'connections' ? sql<SqlBool>`deleted_at is null` : sql<SqlBool>`true`;
  const { rows } = await sql<{ id: string }>`
    select id from unnest(${ids}::text[]) as given (id)
    where not exists (
      select 1 from ${sql.table(table)} known
      where known.org_id = ${scope.orgId} and known.id = given.id and ${isLive})`.execute(db);
  return new Set(rows.map(({ id }) => id));
}

/** The endpoint must exist. */
export async function readEndpointStats(
  db: Db,
  scope: OrgScope,
  { id, hours }: { readonly id: string; readonly hours: number },
): Promise<Omit<WebhookEndpointStats, 'window' | 'state'>> {
  const { rows } = await sql<Omit<WebhookEndpointStats, 'window' | 'state'>>`
    select log.attempts, log.delivered, log.delivered::float8 / nullif(log.attempts, 0) as success_rate,
      log.p50_ms, log.p95_ms, queue.pending, queue.oldest_pending_seconds
    from (
      select count(*) as attempts, count(*) filter (where delivered) as delivered,
        percentile_cont(0.5) within group (order by duration_ms) as p50_ms,
        percentile_cont(0.95) within group (order by duration_ms) as p95_ms
      from webhook_deliveries
      where org_id = ${scope.orgId} and endpoint_id = ${id} and state in ('done', 'unknown')
        and created_at >= now() - make_interval(hours => ${hours}) and id >= ${firstIdAt('whd', earlier(hours))}
    ) log, (
      select count(*) as pending, floor(extract(epoch from now() - min(occurred_at)))::float8 as oldest_pending_seconds
      from webhook_messages join webhook_events on webhook_events.id = event_id
      where webhook_messages.org_id = ${scope.orgId} and endpoint_id = ${id} and status = 'pending'
    ) queue`.execute(db);
  const [stats] = rows;
  if (!stats) throw new Error('An aggregate always has a row.');
  return stats;
}

/** An hour before, as the id of an attempt has the time of the process that made it. */
const earlier = (hours: number): Date => new Date(Date.now() - (hours + 1) * 3_600_000);
