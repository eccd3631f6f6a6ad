import type { RunRow } from '../core/rows.ts';
import type { Checks } from './checks.ts';
import type { ApiClient } from './client.ts';
import type { Screen } from './console.ts';
import { count } from './console.ts';
import type { DemoDestination } from './destination.ts';
import { pageSize } from './specs.ts';
import type { DemoUpstream } from './upstream.ts';

/** Everything that a step of the story needs. */
export interface Scene {
  readonly screen: Screen;
  readonly checks: Checks;
  readonly api: ApiClient;
  readonly upstream: DemoUpstream;
  /** Records the upstream has, the broken ones included. */
  readonly recordCount: number;
  readonly brokenCount: number;
  readonly destination: DemoDestination;
}

/** Milliseconds between two looks at a run. */
const pollMs = 150;
/** Milliseconds after which a run that has not ended is given up. */
const runMsMax = 300_000;

/**
 * Starts a sync through the API and polls it to its end, as any customer's program would, with a live line.
 * `onPoll` is called at each look, before the next. Throws when the run does not end within five minutes.
 */
export async function syncAndWatch(
  scene: Scene,
  {
    connectionId,
    resource,
    onPoll,
  }: { connectionId: string; resource: string; onPoll?: (run: RunRow) => Promise<void> },
): Promise<RunRow> {
  const { id } = await scene.api.sync(connectionId, resource);
  const startedAt = performance.now();
  for (;;) {
    const run = await scene.api.run(id);
    if (run.finishedAt !== null) return run;
    if (performance.now() - startedAt > runMsMax) throw new Error(`run ${id} is still ${run.status} after 5 minutes`);
    scene.screen.progress(progressLine(run, scene, performance.now() - startedAt));
    await onPoll?.(run);
    await new Promise((done) => setTimeout(done, pollMs));
  }
}

/** Records per second over the run's own times; 0 without them. */
export function recordsPerSecond({ startedAt, finishedAt, statsJson }: RunRow): number {
  if (startedAt === null || finishedAt === null) return 0;
  return Math.round((statsJson.recordsIn * 1000) / Math.max(1, Date.parse(finishedAt) - Date.parse(startedAt)));
}

/** `in 1,000  out 999  skipped 0  quarantined 1`. */
export const countsOf = ({ statsJson }: RunRow): string =>
  (['in', 'out'] as const)
    .map((way) => `${way} ${count(way === 'in' ? statsJson.recordsIn : statsJson.recordsOut)}`)
    .concat(`skipped ${count(statsJson.skipped)}`, `quarantined ${count(statsJson.quarantined)}`)
    .join('  ');

function progressLine(run: RunRow, { upstream, recordCount }: Scene, elapsedMs: number): string {
  const { answers, pages } = upstream.journal();
  const retries = (answers['429'] ?? 0) + (answers['503'] ?? 0);
  const rate = count(Math.round((run.statsJson.recordsIn * 1000) / Math.max(1, elapsedMs)));
  const page = `page ${Object.keys(pages).length}/${Math.ceil(recordCount / pageSize)}`;
  return `${run.resourceKey}  ${run.status}  ${page}  ${countsOf(run)}  ${retries} retries  ${rate} rec/s`;
}
