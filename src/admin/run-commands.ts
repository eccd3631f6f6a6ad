/** The operator's commands for the runs of an org. They read the control database, so they need no API key of the org. */

import { setTimeout as sleep } from 'node:timers/promises';
import { listRuns, type RunFilter } from '../../db/queries/runs/run-list.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { RunRow } from '../core/resources/run.ts';
import type { AdminTools, CommandResult } from './command.ts';

/** Milliseconds between two looks at the runs. */
const pollMs = 1000;
/** The latest runs, of which changes are shown. */
const watchedRuns = 500;
/** Runs that are shown at the beginning. */
const firstRuns = 10;

/** `runs list`: the latest runs of an org, newest first. */
export async function showRuns({ db }: AdminTools, scope: OrgScope, filter: RunFilter): Promise<CommandResult> {
  const runs = await readRuns(db, scope, filter);
  return { json: runs, lines: runs.length === 0 ? ['There is no such run.'] : runs.map(lineOf) };
}

/** `runs tail`: the latest runs of an org, oldest first, and each change of a status until the process is ended. */
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
