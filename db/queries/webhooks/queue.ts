/**
 * The queue of an endpoint. The statement that claims a message also writes the attempt's row, so that nothing is sent without a
 * log row. A claim is a lease: an attempt that its worker does not record in time counts as lost.
 */

import { sql } from 'kysely';
import { failuresMax } from '../../../src/core/deliveries/endpoint-health.ts';
import { newId } from '../../../src/core/ids.ts';
import type { WebhookTrigger } from '../../../src/core/resources/webhook-delivery.ts';
import type { WebhookEndpointState, WebhookOrdering } from '../../../src/core/resources/webhook-endpoint.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { endpointState, lockEndpoint } from './endpoints.ts';

export interface OpenEndpoint {
  readonly url: string;
  readonly state: WebhookEndpointState | 'deleted';
  readonly ordering: WebhookOrdering;
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly rateLimitPerSecond: number | null;
  readonly probing: boolean;
  /** Automatic attempts at once that its health allows: after a failure only as many as show that it is down. */
  readonly window: number;
  readonly requested: boolean;
  /** Milliseconds until an automatic attempt may be made, 0 or less for now; `null` if none waits for a time. */
  readonly dueInMs: number | null;
  /** Milliseconds until the earliest lease of an attempt expires; `null` if none is in progress. */
  readonly leaseEndsInMs: number | null;
}

/** `undefined` if the endpoint never existed. */
export async function readOpenEndpoint(db: Db, scope: OrgScope, endpointId: string): Promise<OpenEndpoint | undefined> {
  const { rows } = await sql<OpenEndpoint>`
    select url, ordering, timeout_ms, max_in_flight, rate_limit_per_second,
      probing_since is not null as probing,
      case when probing_since is not null or ordering = 'fifo' then 1
        when consecutive_failures > 0 then least(max_in_flight, greatest(${failuresMax} - consecutive_failures, 1))
        else least(coalesce(send_window, max_in_flight), max_in_flight) end as window,
      case when deleted_at is not null then 'deleted' else ${endpointState} end as state,
      ${msUntil(sql`webhook_endpoint_due_at(webhook_endpoints)`)} as due_in_ms,
      open.requested, ${msUntil(sql`open.lease_until`)} as lease_ends_in_ms
    from webhook_endpoints, lateral (
      select coalesce(bool_or(state = 'queued'), false) as requested, min(lease_until) as lease_until
      from webhook_deliveries
      where endpoint_id = webhook_endpoints.id and state in ('queued', 'sending')) open
    where org_id = ${scope.orgId} and id = ${endpointId}`.execute(db);
  return rows[0];
}

export interface ClaimedAttempt {
  readonly id: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly payload: Buffer;
  readonly attempt: number;
  readonly trigger: WebhookTrigger;
  /** `null` if the attempt was requested. */
  readonly message: {
    readonly seq: number;
    /** Automatic attempts, this one included if it counts. */
    readonly attempts: number;
    /** `false` for a probe ahead of the message's time, which takes none of its attempts. */
    readonly counts: boolean;
  } | null;
}

export interface Claim {
  readonly endpointId: string;
  readonly limit: number;
  /** Lease of the claimed attempts in milliseconds. */
  readonly leaseMs: number;
  readonly leaseToken: string;
}

/** In the order of the requests; they go to the endpoint's current URL. */
export async function claimRequested(
  db: Db,
  scope: OrgScope,
  { endpointId, limit, ...lease }: Claim,
): Promise<ClaimedAttempt[]> {
  const { rows } = await sql<Omit<ClaimedAttempt, 'message'>>`
    with requested as (
      select delivery.id, endpoint.url
      from webhook_deliveries delivery join webhook_endpoints endpoint on endpoint.id = delivery.endpoint_id
      where delivery.org_id = ${scope.orgId} and endpoint_id = ${endpointId} and state = 'queued' and deleted_at is null
      order by delivery.id limit ${limit} for update of delivery skip locked),
    begun as (
      update webhook_deliveries delivery
      set state = 'sending', started_at = now(), url = requested.url, ${leased(lease)}
      from requested where delivery.id = requested.id
      returning delivery.id, event_id, event_type, attempt, trigger)
    select begun.*, payload from begun join webhook_events on webhook_events.id = event_id order by begun.id`.execute(
    db,
  );
  return rows.map((row) => ({ ...row, message: null }));
}

export function claimDue(db: Db, scope: OrgScope, claim: Claim): Promise<ClaimedAttempt[]> {
  const due = sql`next_attempt_at <= now() order by next_attempt_at, seq limit ${claim.limit}`;
  return claimMessages(db, scope, { claim, which: due });
}

/** Claims the oldest message alone, if it is due or, while the endpoint is probed, if a probe is. */
export function claimOldest(
  db: Db,
  scope: OrgScope,
  { claim, probing }: { readonly claim: Claim; readonly probing: boolean },
): Promise<ClaimedAttempt[]> {
  const oldest = sql`seq = (
    select seq from webhook_messages
    where endpoint_id = ${claim.endpointId} and status = 'pending' order by seq limit 1)`;
  const which = probing
    ? sql`${oldest} and (select next_probe_at <= now() from webhook_endpoints where id = ${claim.endpointId})`
    : sql`${oldest} and next_attempt_at <= now()`;
  return claimMessages(db, scope, { claim, which });
}

interface ClaimOfMessages {
  readonly claim: Claim;
  readonly which: ReturnType<typeof sql>;
}

/** Locks the endpoint first, as requests for an attempt do, so that attempts are numbered one after the other. */
function claimMessages(db: Db, scope: OrgScope, claim: ClaimOfMessages): Promise<ClaimedAttempt[]> {
  return db.transaction().execute(async (tx) => {
    const endpoint = await lockEndpoint(tx, scope, claim.claim.endpointId);
    return endpoint ? beginAttempts(tx, scope, claim) : [];
  });
}

async function beginAttempts(
  tx: Db,
  scope: OrgScope,
  { claim: { endpointId, limit, ...lease }, which }: ClaimOfMessages,
): Promise<ClaimedAttempt[]> {
  const ids = Array.from({ length: limit }, () => newId('whd'));
  type Row = Omit<ClaimedAttempt, 'message'> & NonNullable<ClaimedAttempt['message']>;
  const { rows } = await sql<Row>`
    with endpoint as (
      select url from webhook_endpoints
      where org_id = ${scope.orgId} and id = ${endpointId} and enabled and deleted_at is null
        and coalesce(paused_until <= now(), true)),
    due as (
      select seq, next_attempt_at <= now() as counts
      from webhook_messages
      where org_id = ${scope.orgId} and endpoint_id = ${endpointId} and status = 'pending' and lease_until is null
        and exists (select 1 from endpoint) and ${which} for update skip locked),
    taken as (
      update webhook_messages message set attempts = attempts + counts::int, ${leased(lease)}
      from due where message.seq = due.seq
      returning message.seq, event_id, attempts, counts, recovery_id),
    numbered as (
      select taken.*, (${ids}::text[])[row_number() over (order by seq)] as id,
        (select coalesce(max(attempt), 0) + 1 from webhook_deliveries log
         where log.event_id = taken.event_id and log.endpoint_id = ${endpointId}) as attempt,
        case when recovery_id is null then 'auto' else 'recover' end as trigger
      from taken),
    begun as (
      insert into webhook_deliveries (id, org_id, event_id, endpoint_id, connection_id, run_id, event_type, url,
        attempt, trigger, state, started_at, lease_until, lease_token)
      select numbered.id, ${scope.orgId}, event_id, ${endpointId}, connection_id, run_id, type, endpoint.url,
        attempt, trigger, 'sending', now(), ${leaseEnd(lease)}, ${lease.leaseToken}
      from numbered join webhook_events event on event.id = event_id, endpoint)
    select numbered.id, event_id, type as event_type, payload, attempt, trigger, seq, attempts, counts
    from numbered join webhook_events event on event.id = event_id order by seq`.execute(tx);
  return rows.map(({ seq, attempts, counts, ...row }) => ({ ...row, message: { seq, attempts, counts } }));
}

/**
 * Releases attempts whose lease expired. An automatic one has an unknown result, and its message is retried; a requested one is
 * sent again, with the same row.
 */
export async function reclaimExpired(db: Db, scope: OrgScope, endpointId: string): Promise<void> {
  await sql`
    with lost as (
      select delivery.id, event_id, trigger in ('redelivery', 'test') and deleted_at is null as again
      from webhook_deliveries delivery join webhook_endpoints endpoint on endpoint.id = delivery.endpoint_id
      where delivery.org_id = ${scope.orgId} and endpoint_id = ${endpointId} and state = 'sending'
        and lease_until < now()
      for update of delivery skip locked),
    mended as (
      update webhook_deliveries delivery
      set state = case when again then 'queued' else 'unknown' end,
        error_code = case when again then null else 'unknown_outcome' end,
        finished_at = case when again then null else now() end,
        started_at = case when again then null else started_at end,
        lease_until = null, lease_token = null
      from lost where delivery.id = lost.id
      returning delivery.event_id, again)
    update webhook_messages message
    set next_attempt_at = least(next_attempt_at, now()), lease_until = null, lease_token = null
    from mended
    where not again and message.event_id = mended.event_id and message.endpoint_id = ${endpointId}
      and message.status = 'pending' and message.lease_until < now()`.execute(db);
}

export interface PendingEndpoint {
  readonly endpointId: string;
  readonly orgId: string;
  readonly pending: number;
}

/** Across orgs: ids and counts only. */
export async function countPendingMessages(db: Db): Promise<readonly PendingEndpoint[]> {
  const { rows } = await sql<PendingEndpoint>`
    select endpoint_id, org_id, count(*)::float8 as pending from webhook_messages where status = 'pending'
    group by endpoint_id, org_id order by endpoint_id`.execute(db);
  return rows;
}

type Lease = Pick<Claim, 'leaseMs' | 'leaseToken'>;

const leaseEnd = ({ leaseMs }: Pick<Lease, 'leaseMs'>) => sql`now() + make_interval(secs => ${leaseMs / 1000})`;
const leased = (lease: Lease) => sql`lease_until = ${leaseEnd(lease)}, lease_token = ${lease.leaseToken}`;

const msUntil = (time: ReturnType<typeof sql>) =>
  sql<number | null>`(extract(epoch from ${time} - now()) * 1000)::float8`;
