/**
 * The operator's command after a restore of the control database. It rebuilds Temporal's schedules and reports where
 * Temporal, destinations and endpoints are ahead. Workers repair that: the next run of such a lane asks its destination
 * for unknown records.
 */
import {
  findLastBatch,
  findOpenRuns,
  findUsedLanes,
  noteLacking,
  type UsedLane,
} from '../../db/queries/runs/maintenance/restored.ts';
import { findLiveSchedules, findSchedulesToApply } from '../../db/queries/runs/maintenance/sweep.ts';
import { countPendingMessages } from '../../db/queries/webhooks/queue.ts';
import { orgScope } from '../../db/scope.ts';
import { peekCheckpoint } from '../connect/peek-checkpoint.ts';
import { AppError } from '../core/errors.ts';
import type { Deps } from '../deps.ts';
import { runInput } from '../dispatch/run-input.ts';
import { applyMissedSchedules, compareSchedules } from '../maintenance/schedule-sweep.ts';
import { someAtOnce } from '../temporal/some-at-once.ts';
import type { AdminTools, CommandResult } from './command.ts';
import { openRing } from './key-commands.ts';

interface NotedLane extends Omit<UsedLane, 'id'> {
  /** `ahead`: the difference is delivered again; `unknown`: the destination could not be queried. */
  readonly state: 'ahead' | 'unknown';
  /** The last run in the destination's checkpoint; `null` if not queried. */
  readonly runId: string | null;
  /** Batches of that run missing in the ledger; `null` if it does not know the run, or the lane was not queried. */
  readonly batches: number | null;
  readonly reason: string | null;
}

const lanesAtOnce = 500;

/** Throws when Temporal is not reachable. */
export async function reconcile(tools: AdminTools): Promise<CommandResult> {
  await using opened = await openRing(tools);
  const { deps } = opened;
  tools.progress('comparing schedules');
  const schedules = await rebuildSchedules(deps);
  tools.progress('asking Temporal for the workflows of open runs');
  const runs = await findLostRuns(deps);
  tools.progress('asking destinations where they stand');
  const lanes = await compareLanes(deps);
  const endpoints = await countPendingMessages(deps.db);
  return {
    json: { schedules, runs, lanes, endpoints },
    lines: [
      `schedules  ${schedules.created} created in Temporal, ${schedules.deleted} without a row deleted there`,
      `runs       ${runs.length} open runs have no workflow; the workers start them again within a minute`,
      ...runs.map(({ id, orgId }) => `  ${id} (${orgId})`),
      `lanes      ${lanes.filter(({ state }) => state === 'ahead').length} destinations are ahead of the ledger`,
      ...lanes.map(lineOf),
      `endpoints  ${endpoints.length} have events that may have been delivered; they are sent again under the same id`,
      ...endpoints.map(({ endpointId, orgId, pending }) => `  ${endpointId} (${orgId}): ${pending} events`),
    ],
  };
}

function lineOf({ connectionId, resourceKey, orgId, runId, batches, reason }: NotedLane): string {
  const lane = `  ${connectionId}/${resourceKey} (${orgId})`;
  if (reason !== null) return `${lane}: not compared: ${reason}`;
  const lacks =
    batches === null ? `the ledger does not know ${runId}` : `the ledger lacks ${batches} batches of ${runId}`;
  return `${lane}: ${lacks}; what lies between is delivered again`;
}

async function rebuildSchedules(deps: Deps): Promise<{ readonly created: number; readonly deleted: number }> {
  const listed = new Set((await deps.orchestrator.listSchedules()).map(({ scheduleId }) => scheduleId));
  const live = (await findLiveSchedules(deps.db)).map(({ id }) => id);
  await compareSchedules(deps);
  // Terminates: schedules that cannot be applied are postponed.
  while ((await findSchedulesToApply(deps.db, 1)).length > 0) await applyMissedSchedules(deps);
  return {
    created: live.filter((id) => !listed.has(id)).length,
    deleted: [...listed].filter((id) => !live.includes(id)).length,
  };
}

async function findLostRuns(deps: Deps): Promise<readonly { readonly id: string; readonly orgId: string }[]> {
  const lost: { readonly id: string; readonly orgId: string }[] = [];
  await someAtOnce(await findOpenRuns(deps.db), async (run) => {
    const state = await deps.orchestrator.describeRun(runInput(orgScope(run.orgId), run));
    if (state !== 'open') lost.push({ id: run.id, orgId: run.orgId });
  });
  return lost;
}

async function compareLanes(deps: Deps): Promise<readonly NotedLane[]> {
  const noted: NotedLane[] = [];
  for (let after = 0; ; ) {
    const lanes = await findUsedLanes(deps.db, { after, limit: lanesAtOnce });
    const last = lanes.at(-1);
    if (!last) return noted;
    after = last.id;
    await someAtOnce(lanes, async (lane) => {
      const found = await compareLane(deps, lane);
      if (found) noted.push(found);
    });
  }
}

/** `null` if the ledger has everything, or the destination keeps no checkpoint. */
async function compareLane(deps: Deps, { id, orgId, connectionId, resourceKey }: UsedLane): Promise<NotedLane | null> {
  const lane = { orgId, connectionId, resourceKey };
  const scope = orgScope(orgId);
  const unknown = (reason: string) => ({ ...lane, state: 'unknown', runId: null, batches: null, reason }) as const;
  try {
    const checkpoint = await peekCheckpoint(deps, scope, lane);
    if (checkpoint === 'not_supported') return unknown('destinations of this kind are queried by the next run only');
    if (checkpoint === null) return null;
    const { runId, batchNo } = checkpoint;
    const recorded = await findLastBatch(deps.db, scope, runId);
    if (recorded !== undefined && recorded >= batchNo) return null;
    await noteLacking(deps.db, scope, id);
    return {
      ...lane,
      state: 'ahead',
      runId,
      batches: recorded === undefined ? null : batchNo - recorded,
      reason: null,
    };
  } catch (error) {
    if (error instanceof AppError) return unknown(error.message);
    throw error;
  }
}
