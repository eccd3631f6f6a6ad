import { findPinnedConnection } from '../../../db/queries/connections/connections.ts';
import { requestCancel } from '../../../db/queries/runs/cancel.ts';
import { findFiring } from '../../../db/queries/runs/firings.ts';
import { findRun, insertRun } from '../../../db/queries/runs/runs.ts';
import type { Backfill } from '../../../db/schema.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { conflict, found, invalid, schemaIssue } from '../../core/errors.ts';
import type { LaneKey } from '../../core/model/lane-key.ts';
import { publishRunEnded } from '../../core/observations.ts';
import type { RunRow, RunTrigger } from '../../core/resources/run.ts';
import { cursorText, parseInitialCursor } from '../../core/source/cursor/cursor-value.ts';
import { runTerms } from '../../core/spec/connection/run-terms.ts';
import { isTimeCursor } from '../../core/spec/schema/incremental-schema.ts';
import type { Resource } from '../../core/spec/schema/spec-schema.ts';
import type { Deps } from '../../deps.ts';
import { orLeaveToSweeper } from '../../dispatch/or-leave-to-sweeper.ts';
import { noFiring, runInput } from '../../dispatch/run-input.ts';
import { startQueuedRun } from '../../dispatch/start-run.ts';
import { wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { requireRoomForRun } from '../orgs/org-limits.ts';
import { type WriteDeps, write } from '../orgs/write.ts';
import { planRewind } from './rewind.ts';

export type RunDeps = Pick<Deps, 'db' | 'orchestrator' | 'log' | 'defaultDestination'>;

interface RunRequest extends LaneKey {
  readonly trigger: RunTrigger;
  /** `from` is a value of the cursor. `null` for an ordinary run. */
  readonly backfill: { readonly from: string | number | null; readonly force: boolean } | null;
  /** ISO time to which the lane is set back before it is read, in place of `from`. */
  readonly rewindTo?: string | null;
}

/**
 * The row is committed before Temporal knows of it, so a workflow always finds its row; if the start fails, the row stays
 * queued for the sweeper.
 *
 * Throws not_found (connection, pinned spec), conflict (not active, effective spec invalid, no destination), rate_limited
 * (too many runs are queued). Throws validation (no such resource, no such start of a backfill, no such time).
 */
export async function requestRun(
  deps: RunDeps & WriteDeps,
  scope: OrgScope,
  { rewindTo = null, ...request }: RunRequest,
): Promise<RunRow> {
  const connection = found(await findPinnedConnection(deps.db, scope, request.connectionId), 'Connection');
  if (connection.status !== 'active') throw conflict(notActive[connection.status]);
  const { resource, keepsRows, ...terms } = runTerms({
    ...connection,
    resourceKey: request.resourceKey,
    defaultDestination: deps.defaultDestination,
    path: 'resource',
  });
  const backfill =
    rewindTo === null
      ? request.backfill && toBackfill(request.backfill, resource)
      : await planRewind(deps.db, scope, {
          connectionId: connection.id,
          resource,
          keepsRows,
          to: rewindTo,
          from: request.backfill?.from ?? null,
          force: request.backfill?.force ?? false,
        });
  const run = await write(deps, async (tx) => {
    await requireRoomForRun(tx, scope, request);
    return insertRun(tx, scope, { ...request, ...terms, backfill });
  });
  // The row is the guarantee: the request or the sweeper notifies Temporal, so the run always starts.
  void startQueuedRun(deps, scope, run);
  return run;
}

/** Throws `validation` when the resource cannot be read from this start. */
function toBackfill(
  { from, force }: NonNullable<RunRequest['backfill']>,
  { key, incremental }: Pick<Resource, 'key' | 'incremental'>,
): Backfill {
  if (from === null) return { from, force };
  const refused = (message: string) => invalid('The start is not valid.', [schemaIssue('from', message)]);
  if (incremental?.kind !== 'cursor') throw refused(`${key} has no cursor: remove \`from\``);
  const { cursor } = incremental;
  const start = parseInitialCursor(from, cursor);
  if (start === null)
    throw refused(
      `expected a value of a cursor of type ${cursor.type}${isTimeCursor(cursor.type) ? ', or ISO 8601 such as 2026-01-01T00:00:00Z' : ''}`,
    );
  return { from: cursorText(start, cursor), force };
}

const notActive = {
  pending: 'The connection is not active yet; activate it before a sync.',
  paused: 'The connection is paused; activate it before a sync.',
  error:
    'The connection is in error; GET /connections/:id says why and when it is tested again. Correct it, or activate the connection.',
} as const;

/** A manual run from the current watermark; throws as requestRun. */
export async function replayRun(deps: RunDeps & WriteDeps, scope: OrgScope, runId: string): Promise<RunRow> {
  const original = found(await findRun(deps.db, scope, runId), 'Run');
  const { connectionId, resourceKey } = original;
  return requestRun(deps, scope, { connectionId, resourceKey, trigger: 'manual', backfill: null });
}

/**
 * Aborts the HTTP request in progress; delivered records stay. Safe to repeat; throws not_found, conflict (already final).
 */
export async function cancelRun(deps: RunDeps, scope: OrgScope, runId: string): Promise<RunRow> {
  const run = await deps.db.transaction().execute((tx) => requestCancel(tx, scope, runId));
  if (!run) {
    const existing = found(await findRun(deps.db, scope, runId), 'Run');
    throw conflict(`The run has already ended as ${existing.status}.`);
  }
  void wakeEndpoints(deps, scope);
  await cancelWorkflows(deps, scope, [run]);
  return run;
}

/** The sweeper repeats lost notifications. */
export async function cancelWorkflows(
  deps: Pick<RunDeps, 'db' | 'orchestrator' | 'log'>,
  scope: OrgScope,
  runs: readonly RunRow[],
): Promise<void> {
  for (const run of runs.filter(({ status }) => status === 'canceled')) publishRunEnded(run);
  const open = runs.filter((run) => run.status !== 'canceled');
  await Promise.all(open.map((run) => cancelWorkflow(deps, scope, run)));
}

async function cancelWorkflow(
  { db, orchestrator, log }: Pick<RunDeps, 'db' | 'orchestrator' | 'log'>,
  scope: OrgScope,
  run: RunRow,
): Promise<void> {
  const { id: runId, connectionId, resourceKey } = run;
  await orLeaveToSweeper(log, { orgId: scope.orgId, connectionId, resourceKey, runId }, async () => {
    const firing = run.trigger === 'schedule' ? await findFiring(db, scope, run.id) : undefined;
    await orchestrator.cancelRun(runInput(scope, { ...run, ...(firing ?? noFiring) }));
  });
}
