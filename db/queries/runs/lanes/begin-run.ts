import { sql } from 'kysely';
import { publishRunEnded } from '../../../../src/core/observations.ts';
import type { RunRow, RunStatus } from '../../../../src/core/resources/run.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type Placeholders, statement } from '../../../statement.ts';
import { namesRunStarted, recordRunEnds, recordRunStarted } from '../run-events.ts';
import { findRun } from '../runs.ts';
import { rewindLane } from './rewind.ts';
import { noteReady, queued, runsInTurn } from './turns.ts';

/**
 * Begins the run if its lane is idle, no earlier run is queued there, and its org has a place ({@link runsInTurn}). From then on
 * it keeps the spec and the parameters that the connection has now; safe to repeat.
 */
export async function beginRun(
  db: Db,
  scope: OrgScope,
  runId: string,
  { onlyIfQuick = false }: BeginOptions = {},
): Promise<Begun> {
  const tried = await tryToBegin(db, scope, { runId, onlyIfQuick });
  // A run that ended meanwhile did not see that this one was ready, and wakes no run.
  const last = tried.isNewlyReady ? await tryToBegin(db, scope, { runId, onlyIfQuick }) : tried;
  const { isNewlyReady: _, canceled, ...begun } = last;
  if (canceled) publishRunEnded(canceled);
  return begun;
}

interface BeginOptions {
  /** Do nothing unless the last run of the lane was quick; `turn` is then `null`. */
  readonly onlyIfQuick?: boolean;
}

/** `running` if it holds the lane, `waiting` if it is not its turn, a final status if it was ended meanwhile. */
type Turn = Exclude<RunStatus, 'queued'> | 'waiting';

export interface Begun {
  /** `null` if there is no such run, or it did not try. */
  readonly turn: Turn | null;
  /** Whether the last run of the lane was quick (`quickMsMax`). */
  readonly isQuick: boolean;
  /** Whether it began now, not earlier: its first attempt is counted. */
  readonly isFirst: boolean;
  readonly eventsFor: number;
}

interface BeginResult extends Begun {
  /** Whether it waits, and was not marked as ready until now. */
  readonly isNewlyReady: boolean;
  /** The run, if this call ended it because its connection is not active. */
  readonly canceled?: RunRow | undefined;
}

function tryToBegin(
  db: Db,
  scope: OrgScope,
  { runId, onlyIfQuick }: Required<BeginOptions> & { readonly runId: string },
): Promise<BeginResult> {
  return db.transaction().execute(async (tx) => {
    // Competing beginners queue at the locks, first at the org's for its limit; the partial unique index is the last line behind
    // them.
    const [found] = await lockToBegin(tx, { orgId: scope.orgId, runId });
    const notBegun = { isQuick: found?.quick ?? false, isFirst: false, isNewlyReady: false, eventsFor: 0 };
    if (onlyIfQuick && !notBegun.isQuick) return { ...notBegun, turn: null };
    if (found && found.status !== 'active' && (await cancelQueued(tx, scope, runId))) {
      const eventsFor = await recordRunEnds(tx, scope, [runId]);
      return { ...notBegun, turn: 'canceled', eventsFor, canceled: await findRun(tx, scope, runId) };
    }
    const [begun] = await beginInTurn(tx, { orgId: scope.orgId, runId });
    if (begun) {
      if (found?.backfill?.rewind) await rewindLane(tx, scope, { runId, to: found.backfill.from });
      const eventsFor = begun.namesRunStarted ? await recordRunStarted(tx, scope, runId) : 0;
      return { ...notBegun, turn: 'running', isFirst: true, eventsFor };
    }
    const run = await findRun(tx, scope, runId);
    if (!run) return { ...notBegun, turn: null };
    if (run.status !== 'queued') return { ...notBegun, turn: run.status };
    const isReady = await noteReady(tx, scope, runId);
    return { ...notBegun, turn: 'waiting', isNewlyReady: isReady && found?.readyAt === null };
  });
}

interface OfOrg {
  readonly orgId: string;
  readonly runId: string;
}

const lockToBegin = statement((tx, { orgId, runId }: Placeholders<OfOrg>) =>
  tx
    .selectFrom('orgs')
    .innerJoin('runs', 'runs.orgId', 'orgs.id')
    .innerJoin('connections', 'connections.id', 'runs.connectionId')
    .innerJoin('lanes', 'lanes.id', 'runs.laneId')
    .select(['connections.status', 'runs.readyAt', 'runs.backfill', 'lanes.quick'])
    .where('runs.orgId', '=', orgId)
    .where('runs.id', '=', runId)
    .forNoKeyUpdate(['orgs', 'connections']),
);

/** Also says whether an endpoint gets `run.started`: one may have been added while the locks were waited for. */
const beginInTurn = statement(
  // The attempt that follows counts from here on.
  (_, { orgId, runId }: Placeholders<OfOrg>) => sql<{ readonly namesRunStarted: boolean }>`
    update runs set status = 'running', started_at = clock_timestamp(), progressed_at = now(), attempts = 1,
      dispatched_at = coalesce(dispatched_at, now()),
      watermark_before = lane_watermark(lane_id), watermark_after = lane_watermark(lane_id),
      (spec_version, spec_overrides_json, params_json, access_no) = (
        select pinned_spec_version, spec_overrides_json, params_json, access_no from connections where id = runs.connection_id)
    where org_id = ${orgId} and id = ${runId} and status = 'queued' and cancel_requested_at is null
      and id in (select id from (${runsInTurn(orgId, queued(orgId, sql`id = ${runId}`))}) turn)
    returning ${namesRunStarted(orgId)} as names_run_started`,
);

/** A run whose connection was paused or broke while it waited does not begin. */
async function cancelQueued(tx: Db, scope: OrgScope, runId: string): Promise<boolean> {
  const canceled = await tx
    .updateTable('runs')
    .set({ status: 'canceled', finishedAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .where('status', '=', 'queued')
    .returning('id')
    .executeTakeFirst();
  return canceled !== undefined;
}
