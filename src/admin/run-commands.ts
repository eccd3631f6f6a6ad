/**
 * The operator's commands for the runs of an org; they read the control database, so they need no API key of the org.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { listRuns, type RunFilter } from '../../db/queries/runs/run-list.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { RunRow } from '../core/resources/run.ts';
import type { AdminTools, CommandResult } from './command.ts';

const pollMs = 1000;
const watchedRuns = 500;
const firstRuns = 10;

export async function showRuns({ db }: AdminTools, scope: OrgScope, filter: RunFilter): Promise<CommandResult> {
  const runs = await readRuns(db, scope, filter);
  return { json: runs, lines: runs.length === 0 ? ['There is no such run.'] : runs.map(lineOf) };
}

/** `runs tail`: oldest first, then each change of a status until interrupted. */
export async function tailRuns({ db, show }: AdminTools, scope: OrgScope): Promise<never> {
  let seen = await readRuns(db, scope, { limit: watchedRuns });
  for (const run of seen.slice(0, firstRuns).toReversed()) show(lineOf(run));
  for (;;) {
    await sleep(pollMs);
    const before = new Map(seen.map(({ id, status }) => [id, status]));
    seen = await readRuns(db, scope, { limit: watchedRuns });
    for (const run of seen.toReversed()) if (before.get(run.id) !== run.status) show(lineOf(run));
  }
}

async function readRuns(db: AdminTools['db'], scope: OrgScope, filter: RunFilter): Promise<readonly RunRow[]> {
  return Array.fromAsync((await listRuns(db, scope, filter)).rows);
}

function lineOf(run: RunRow): string {
  const { recordsIn, recordsOut } = run.statsJson;
  const end = run.error ? `${run.error.code}: ${run.error.message}` : `${recordsIn} in, ${recordsOut} out`;
  const started = run.startedAt ?? 'not started';
  return [run.id, run.connectionId, run.resourceKey, run.trigger, run.status, started, end].join('  ');
}
