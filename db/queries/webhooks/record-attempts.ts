/**
 * Results of attempts are recorded in one transaction: the log, the queue, the endpoint's health, and events for the org's other
 * endpoints.
 */
import { sql } from 'kysely';
import type { AttemptVerdict } from '../../../src/core/deliveries/classify-attempt.ts';
import { type CountedOutcome, type HealthChange, healthAfter } from '../../../src/core/deliveries/endpoint-health.ts';
import { endpointDisabled, endpointFailing } from '../../../src/core/events/endpoint-events.ts';
import type { PostOutcome } from '../../../src/core/http/webhook-post.ts';
import { storableText } from '../../../src/core/json/storable-text.ts';
import type { Db } from '../../client.ts';
import { countRows } from '../../listing.ts';
import type { OrgScope } from '../../scope.ts';
import { closeToEvents, makeAllDue } from './endpoints.ts';
import { recordEvent } from './events.ts';
import type { ClaimedAttempt } from './queue.ts';

export interface AttemptResult {
  readonly attempt: Pick<ClaimedAttempt, 'id' | 'eventId' | 'message'>;
  readonly probe: boolean;
  /** Secret of its first signature. */
  readonly secretId: string;
  /** As sent, signatures masked. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly outcome: PostOutcome;
  readonly verdict: AttemptVerdict;
  /** Milliseconds to the next attempt; `null` if this was the last, or it does not change the schedule. */
  readonly retryInMs: number | null;
}

/** In the order in which they ended. */
export interface AttemptResults {
  readonly endpointId: string;
  readonly leaseToken: string;
  readonly results: readonly AttemptResult[];
  /** Milliseconds for which an event is tried. */
  readonly retryWindowMs: number;
}

/** Failed attempts of one message after which the other endpoints are notified. */
const failuresToTell = 4;

/**
 * Rows of a lost lease stay as they are. A success still ends its message, and the endpoint's health counts every result.
 *
 * @returns whether events were recorded, so that the endpoints of the org are to be woken.
 */
export function recordAttempts(db: Db, scope: OrgScope, attempts: AttemptResults): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    // First, as in every change of an endpoint: results, deletions and rotations are serialized.
    const endpoint = await lockHealth(tx, scope, attempts.endpointId);
    await recordInLog(tx, scope, attempts);
    await recordInMessages(tx, scope, attempts);
    const change = healthAfter(endpoint, outcomesOf(attempts), { ...endpoint, ...attempts });
    const automatic = attempts.results.filter(({ attempt }) => attempt.message !== null);
    if (automatic.length === 0) return false;
    await writeHealth(tx, scope, { endpointId: attempts.endpointId, change, pauseMs: pauseOf(automatic) });
    if (change.recovered) await makeAllDue(tx, scope, attempts.endpointId);
    const isGone = automatic.some(({ verdict }) => verdict.disables);
    const told = isGone || change.exhausted ? false : await tellOfFailures(tx, scope, { ...attempts, endpoint });
    if (!isGone && !change.exhausted) return told;
    return disableEndpoint(tx, scope, { endpointId: attempts.endpointId, reason: isGone ? 'gone' : 'failing' });
  });
}

const outcomesOf = ({ results }: AttemptResults): CountedOutcome[] =>
  results.flatMap(({ attempt, probe, verdict }) =>
    attempt.message === null ? [] : [{ delivered: verdict.delivered, probe }],
  );

function pauseOf(results: readonly AttemptResult[]): number | null {
  const pauses = results.flatMap(({ verdict }) => verdict.pauseMs ?? []);
  return pauses.length === 0 ? null : Math.max(...pauses);
}

function lockHealth(tx: Db, scope: OrgScope, endpointId: string) {
  return tx
    .selectFrom('webhookEndpoints')
    .select([
      'url',
      'maxInFlight',
      'consecutiveFailures',
      'sendWindow',
      sql<boolean>`probing_since is not null`.as('probing'),
      sql<number | null>`(extract(epoch from now() - first_failure_at) * 1000)::float8`.as('failingMs'),
    ])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', endpointId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
}

async function recordInLog(tx: Db, scope: OrgScope, { leaseToken, results }: AttemptResults): Promise<void> {
  const column = <Value>(of: (one: AttemptResult) => Value): Value[] => results.map(of);
  await sql`
    update webhook_deliveries delivery
    set state = 'done', delivered = result.error_code is null, status_code = result.status_code,
      error_code = result.error_code, duration_ms = result.duration_ms, secret_id = result.secret_id,
      request_headers = result.request_headers::jsonb, response_headers = result.response_headers::jsonb,
      response_body = result.response_body, finished_at = clock_timestamp(), lease_until = null, lease_token = null
    from unnest(
      ${column(({ attempt }) => attempt.id)}::text[],
      ${column(({ outcome }) => outcome.statusCode)}::int[],
      ${column(({ outcome }) => outcome.errorCode)}::text[],
      ${column(({ outcome }) => outcome.durationMs)}::int[],
      ${column(({ secretId }) => secretId)}::text[],
      ${column(({ requestHeaders }) => JSON.stringify(requestHeaders))}::text[],
      ${column(({ outcome }) => ofResponse(outcome, () => storableText(JSON.stringify(outcome.headers))))}::text[],
      ${column(({ outcome }) => ofResponse(outcome, () => storableText(outcome.body)))}::text[]
    ) as result (id, status_code, error_code, duration_ms, secret_id, request_headers, response_headers, response_body)
    where delivery.org_id = ${scope.orgId} and delivery.id = result.id and delivery.lease_token = ${leaseToken}
      and delivery.id = any(${column(({ attempt }) => attempt.id)}::text[])`.execute(tx);
}

const ofResponse = ({ statusCode }: PostOutcome, text: () => string): string | null =>
  statusCode === null ? null : text();

/** A success counts for every kind of attempt; a failure counts only for the message whose turn it was. */
async function recordInMessages(
  tx: Db,
  scope: OrgScope,
  { endpointId, leaseToken, results }: AttemptResults,
): Promise<void> {
  const taken = results.filter(({ verdict }) => verdict.delivered).map(({ attempt }) => attempt.eventId);
  if (taken.length > 0) {
    await sql`
      update webhook_messages
      set status = 'succeeded', next_attempt_at = null, lease_until = null, lease_token = null
      where org_id = ${scope.orgId} and endpoint_id = ${endpointId} and event_id = any(${taken}::text[])
        and status <> 'succeeded'`.execute(tx);
  }
  const failed = results.flatMap((one) =>
    one.attempt.message === null || one.verdict.delivered ? [] : [{ ...one, message: one.attempt.message }],
  );
  if (failed.length === 0) return;
  await sql`
    update webhook_messages message
    set status = result.status, lease_until = null, lease_token = null,
      next_attempt_at = case when result.status = 'pending'
        then coalesce(now() + make_interval(secs => result.retry_in_ms / 1000), next_attempt_at) end
    from unnest(
      ${failed.map(({ message }) => message.seq)}::bigint[],
      ${failed.map(statusAfter)}::text[],
      ${failed.map(({ retryInMs }) => retryInMs)}::float8[]
    ) as result (seq, status, retry_in_ms)
    where message.org_id = ${scope.orgId} and message.seq = result.seq and message.lease_token = ${leaseToken}`.execute(
    tx,
  );
}

function statusAfter({
  verdict,
  retryInMs,
  message,
}: Pick<AttemptResult, 'verdict' | 'retryInMs'> & { readonly message: { readonly counts: boolean } }) {
  if (verdict.otherwise !== 'retry') return verdict.otherwise;
  return message.counts && retryInMs === null ? 'exhausted' : 'pending';
}

async function writeHealth(
  tx: Db,
  scope: OrgScope,
  {
    endpointId,
    change,
    pauseMs,
  }: { readonly endpointId: string; readonly change: HealthChange; readonly pauseMs: number | null },
): Promise<void> {
  const { consecutiveFailures, probing, sendWindow, failingMs, probeInMs, succeeded } = change;
  await sql`
    update webhook_endpoints
    set consecutive_failures = ${consecutiveFailures}, send_window = ${sendWindow}::int,
      first_failure_at = ${failingMs === null ? sql`null` : failingMs === 0 ? sql`now()` : sql`first_failure_at`},
      last_success_at = case when ${succeeded} then now() else last_success_at end,
      probing_since = case when ${probing} then coalesce(probing_since, now()) end,
      next_probe_at = now() + make_interval(secs => ${probeInMs === null ? null : probeInMs / 1000}::float8),
      paused_until = greatest(paused_until, now() + make_interval(secs => ${pauseMs === null ? null : pauseMs / 1000}::float8))
    where org_id = ${scope.orgId} and id = ${endpointId}`.execute(tx);
}

/** Notifies the other endpoints, once for each series of failures. */
async function tellOfFailures(
  tx: Db,
  scope: OrgScope,
  { endpointId, results, endpoint }: AttemptResults & { readonly endpoint: { readonly url: string } },
): Promise<boolean> {
  const failing = results.findLast(
    ({ attempt: { message }, verdict }) =>
      !verdict.delivered && message?.counts === true && message.attempts === failuresToTell,
  );
  const since = failing && (await failingSince(tx, scope, endpointId));
  if (!failing || !since) return false;
  const pending = await countPending(tx, scope, endpointId);
  const lastStatusCode = failing.outcome.statusCode;
  const domainEvent = endpointFailing({ endpointId, url: endpoint.url, since, lastStatusCode, pending });
  await recordEvent(tx, scope, domainEvent, endpointId);
  return true;
}

async function failingSince(tx: Db, scope: OrgScope, endpointId: string): Promise<string | null> {
  const { firstFailureAt } = await tx
    .selectFrom('webhookEndpoints')
    .select('firstFailureAt')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', endpointId)
    .executeTakeFirstOrThrow();
  return firstFailureAt;
}

const countPending = (tx: Db, scope: OrgScope, endpointId: string): Promise<number> =>
  countRows(
    tx
      .selectFrom('webhookMessages')
      .where('orgId', '=', scope.orgId)
      .where('endpointId', '=', endpointId)
      .where('status', '=', 'pending'),
  );

/** Keeps waiting messages as skipped, and notifies the other endpoints; `false` if the endpoint was disabled already. */
async function disableEndpoint(
  tx: Db,
  scope: OrgScope,
  { endpointId, reason }: { readonly endpointId: string; readonly reason: 'gone' | 'failing' },
): Promise<boolean> {
  await closeToEvents(tx, scope, endpointId);
  const disabled = await tx
    .updateTable('webhookEndpoints')
    .set({ enabled: false, disabledReason: reason })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', endpointId)
    .where('enabled', '=', true)
    .where('deletedAt', 'is', null)
    .returning(['url', 'firstFailureAt'])
    .executeTakeFirst();
  if (!disabled) return false;
  const { numUpdatedRows } = await tx
    .updateTable('webhookMessages')
    .set({ status: 'skipped', nextAttemptAt: null, leaseUntil: null, leaseToken: null })
    .where('orgId', '=', scope.orgId)
    .where('endpointId', '=', endpointId)
    .where('status', '=', 'pending')
    .executeTakeFirst();
  const { url, firstFailureAt: failingSinceAt } = disabled;
  const facts = { endpointId, url, reason, failingSince: failingSinceAt, skipped: Number(numUpdatedRows) };
  const { now } = await tx.selectNoFrom(sql<string>`now()`.as('now')).executeTakeFirstOrThrow();
  await recordEvent(tx, scope, endpointDisabled({ ...facts, deduplicationId: now }), endpointId);
  return true;
}
