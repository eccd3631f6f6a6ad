import { sql } from 'kysely';
import { newId } from '../../../src/core/ids.ts';
import type { LaneKey } from '../../../src/core/model/lane-key.ts';
import type { HookRequestRow } from '../../../src/core/resources/hook.ts';
import type { Db } from '../../client.ts';
import { type Listing, openNewestFirst } from '../../listing.ts';
import { newestPage, type Page, type PageRequest } from '../../page.ts';
import type { OrgScope } from '../../scope.ts';
import { isUsedUp } from '../orgs/org-limits.ts';

/** Days for which requests are kept and compared with new ones. */
export const hookRequestDays = 7;

interface LoggedHook {
  readonly id: string;
  readonly connectionId: string;
}

/** Fingerprints that a request is compared by, under each key of the ring, the current one first. */
interface Compared {
  /** Identify the notification, see `dedupeKey`; `null` if it is compared with none. */
  readonly notifications: readonly string[] | null;
  readonly hasId: boolean;
  /** Signed content; `null` if the kind signs nothing. */
  readonly contents: readonly string[] | null;
}

/**
 * Seconds between two runs for requests whose signed content came before. A captured request may be replayed, and an upstream
 * whose notifications are all alike is read this much later at most.
 */
const repeatSeconds = 60;
const repeatReason = 'its signed content came before: its run comes within a minute';

/** A request that starts nothing. */
export interface IdleRequest {
  readonly status: 'duplicate' | 'ignored' | 'rejected';
  readonly reason: string | null;
}

export async function logHookRequest(
  db: Db,
  scope: OrgScope,
  hook: LoggedHook,
  { status, reason }: IdleRequest,
): Promise<void> {
  const ids = { id: newId('hreq'), orgId: scope.orgId, hookId: hook.id, connectionId: hook.connectionId };
  await db
    .insertInto('hookRequests')
    .values({ ...ids, status, reason, startsNothing: true })
    .execute();
}

/** `followed`: the request is not stored, since a run that others wait for begins after it. */
type Acceptance = 'duplicate' | 'followed' | { readonly id: string };

/**
 * Accepts a request and what it requests, in one statement. A duplicate has the same notification as an accepted request or,
 * where it has no id, as one that still waits for its run. A request whose signed content came before waits, so that such runs
 * are {@link repeatSeconds} apart. Once the org has used its hourly limit (`hookRequests`), resources for which an earlier
 * request waits are left out.
 */
export async function acceptHookRequest(
  db: Db,
  scope: OrgScope,
  hook: LoggedHook & { readonly resourceKeys: readonly string[] },
  { notifications, hasId, contents }: Compared,
): Promise<Acceptance> {
  const id = newId('hreq');
  const bytes = (texts: readonly string[] | null) => texts && texts.map((text) => Buffer.from(text, 'base64url'));
  const { rows } = await sql<{ outcome: 'accepted' | 'duplicate' | 'followed' }>`
    select accept_hook_request(${id}, ${scope.orgId}, ${hook.id}, ${hook.connectionId}, ${hook.resourceKeys}::text[],
      ${bytes(notifications)}::bytea[], ${hasId}, ${bytes(contents)}::bytea[], ${repeatSeconds}, ${repeatReason},
      ${isUsedUp(scope, 'hookRequests')}) as outcome`.execute(db);
  const outcome = rows[0]?.outcome ?? 'duplicate';
  return outcome === 'accepted' ? { id } : outcome;
}

/**
 * Resources for which the caller wakes a workflow: no earlier request waits, except for a later time. Call it after the commit,
 * so that a run created later for an earlier request covers this one too.
 */
export async function findUnwokenResources(
  db: Db,
  scope: OrgScope,
  { requestId, connectionId }: { readonly requestId: string; readonly connectionId: string },
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('hookTriggers as mine')
    .select('mine.resourceKey')
    .where('mine.orgId', '=', scope.orgId)
    .where('mine.requestId', '=', requestId)
    .where('mine.pending', '=', true)
    .where('mine.notBefore', 'is', null)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('hookTriggers as earlier')
            .select('earlier.requestId')
            .where('earlier.connectionId', '=', connectionId)
            .whereRef('earlier.resourceKey', '=', 'mine.resourceKey')
            .where('earlier.requestId', '<', requestId)
            .where('earlier.pending', '=', true)
            .where('earlier.notBefore', 'is', null),
        ),
      ),
    )
    .execute();
  return rows.map(({ resourceKey }) => resourceKey);
}

/**
 * A run is due once no request came for the debounce time, the first has waited long enough, or a failed run may be retried.
 *
 * @returns milliseconds, `0` for now; `null` if no request waits.
 */
export async function dueInMs(db: Db, scope: OrgScope, resource: LaneKey): Promise<number | null> {
  const { rows } = await sql<{ ms: number }>`
    select ceil(1000 * greatest(0, extract(epoch from ${dueAt} - clock_timestamp())))::int as ms
    from ${pendingTriggers} and ${ofResource(scope, resource)}
    having count(*) > 0`.execute(db);
  return rows[0]?.ms ?? null;
}

const pendingTriggers = sql`hook_triggers
  join hook_requests on hook_requests.id = hook_triggers.request_id
  join hooks on hooks.id = hook_requests.hook_id
  where hook_triggers.pending`;
const isFirstTry = sql`hook_triggers.not_before is null`;
const dueAt = sql`least(
  max(hook_requests.received_at + make_interval(secs => hooks.debounce_seconds)) filter (where ${isFirstTry}),
  min(hook_requests.received_at + make_interval(secs => hooks.max_wait_seconds)) filter (where ${isFirstTry}),
  min(hook_triggers.not_before))`;
const ofResource = ({ orgId }: OrgScope, { connectionId, resourceKey }: LaneKey) => sql`
  hook_triggers.org_id = ${orgId} and hook_triggers.connection_id = ${connectionId}
  and hook_triggers.resource_key = ${resourceKey}`;

/** Resources whose run should have been created a while ago. */
export async function findOverdueResources(
  db: Db,
  { olderThanMs, limit }: { readonly olderThanMs: number; readonly limit: number },
): Promise<readonly (LaneKey & { readonly orgId: string })[]> {
  const { rows } = await sql<LaneKey & { orgId: string }>`
    select hook_triggers.org_id, hook_triggers.connection_id, hook_triggers.resource_key
    from ${pendingTriggers}
    group by hook_triggers.org_id, hook_triggers.connection_id, hook_triggers.resource_key
    having ${dueAt} < now() - make_interval(secs => ${olderThanMs / 1000})
    order by ${dueAt} limit ${limit}`.execute(db);
  return rows;
}

/**
 * The caller holds the connection's lock and the run has not begun, so it starts after each waiting request came.
 *
 * @param isNew the run was created for them: the first leads and the others have joined it. Otherwise all have.
 */
export async function joinRun(
  tx: Db,
  scope: OrgScope,
  resource: LaneKey,
  { runId, isNew }: { readonly runId: string; readonly isNew: boolean },
): Promise<void> {
  await sql`
    with joined as (
      update hook_triggers set pending = false, run_id = ${runId}
      where pending and ${ofResource(scope, resource)} returning request_id
    )
    update hook_requests set status = 'coalesced'
    where status = 'accepted' and id in (select request_id from joined)
      and not (${isNew} and id = (select min(request_id) from joined))`.execute(tx);
}

/** Minutes after each failed run until the next for the same request; the last one repeats. */
const retryMinutes = [1, 5, 15, 60] as const;

/** Lets requests wait again whose run did not read to its end, until they are too old to keep. */
export async function awaitNextRun(
  tx: Db,
  scope: OrgScope,
  { id, connectionId }: { readonly id: string; readonly connectionId: string },
): Promise<void> {
  await sql`
    update hook_triggers set pending = true, run_id = null, failures = failures + 1,
      not_before = now() + make_interval(mins => (${sql.lit(`{${retryMinutes.join()}}`)}::int[])[
        least(failures + 1, ${sql.lit(retryMinutes.length)})])
    where org_id = ${scope.orgId} and connection_id = ${connectionId} and run_id = ${id}`.execute(tx);
}

/**
 * Requests a run for every resource of the connection's enabled hooks: what they announced while it was inactive was not read.
 * Each hook's log shows it as a request of the service.
 */
export async function requestMissed(tx: Db, scope: OrgScope, connectionId: string): Promise<void> {
  const hooks = await tx
    .selectFrom('hooks')
    .select(['id', 'resourceKeys'])
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('enabled', '=', true)
    .where('deletedAt', 'is', null)
    .execute();
  for (const { id: hookId, resourceKeys } of hooks) {
    const id = newId('hreq');
    const reason = 'the connection became active';
    const { orgId } = scope;
    await tx
      .insertInto('hookRequests')
      .values({ id, orgId, hookId, connectionId, status: 'accepted', reason })
      .execute();
    const triggers = resourceKeys.map((resourceKey) => ({ requestId: id, resourceKey, orgId, connectionId }));
    await tx.insertInto('hookTriggers').values(triggers).execute();
  }
}

/** The waiting requests of a resource get no run; new ones are not compared with them. */
export async function dropTriggers(tx: Db, scope: OrgScope, resource: LaneKey, reason: string): Promise<void> {
  await sql`
    with dropped as (
      update hook_triggers set pending = false where pending and ${ofResource(scope, resource)} returning request_id
    )
    update hook_requests set status = 'ignored', reason = ${reason}, dedupe_key = null
    where id in (select request_id from dropped)
      and not exists (
        select 1 from hook_triggers other where other.request_id = hook_requests.id and other.run_id is not null)`.execute(
    tx,
  );
}

export const listHookRequests = (db: Db, scope: OrgScope, hookId: string): Promise<Listing<HookRequestRow>> =>
  openNewestFirst(requestsTo(db, scope, hookId));

export const findHookRequestsPage = (
  db: Db,
  scope: OrgScope,
  hookId: string,
  request: PageRequest,
): Promise<Page<HookRequestRow>> => newestPage(requestsTo(db, scope, hookId), request);

function requestsTo(db: Db, scope: OrgScope, hookId: string) {
  const runs = sql<HookRequestRow['runs']>`coalesce((
    select jsonb_agg(jsonb_build_object('resourceKey', resource_key, 'runId', run_id) order by resource_key)
    from hook_triggers where request_id = hook_requests.id), '[]')`.as('runs');
  return db
    .selectFrom('hookRequests')
    .select(['id', 'hookId', 'receivedAt', 'status', 'reason', runs])
    .where('orgId', '=', scope.orgId)
    .where('hookId', '=', hookId)
    .where('receivedAt', '>', keptSince);
}

/** Only the default partition: the others are dropped as a whole. */
export async function purgeHookRequests(db: Db): Promise<void> {
  await sql`
    with old as (
      delete from hook_requests_default where ctid = any(array(
        select ctid from hook_requests_default where received_at < ${keptSince} limit 10000 for update skip locked))
      returning id)
    delete from hook_triggers where request_id in (select id from old)`.execute(db);
}

const keptSince = sql<string>`now() - make_interval(days => ${sql.lit(hookRequestDays)})`;
