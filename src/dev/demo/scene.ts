import { setTimeout as sleep } from 'node:timers/promises';
import type { RunRow } from '../../core/resources/run.ts';
import type { Checks } from './checks.ts';
import type { ApiClient } from './client.ts';
import type { Screen } from './console.ts';
import { count } from './console.ts';
import type { DemoDestination } from './destination.ts';
import type { DemoUpstream } from './upstream.ts';

export interface Scene {
  readonly signal: AbortSignal;
  readonly screen: Screen;
  readonly checks: Checks;
  readonly api: ApiClient;
  readonly upstream: DemoUpstream;
  /** Includes the broken ones. */
  readonly recordCount: number;
  readonly brokenCount: number;
  readonly destination: DemoDestination;
}

const pollMs = 150;
/** In milliseconds. */
const runMsMax = 300_000;

export interface SyncOptions {
  readonly connectionId: string;
  readonly resource: string;
  /** Absent if unknown. */
  readonly pages?: number;
  readonly onPoll?: ((run: RunRow) => Promise<void>) | undefined;
}

/** Polls through the API, as a customer's program would. Throws when the run does not end within five minutes. */
export async function syncAndWatch(
  scene: Scene,
  { connectionId, resource, pages, onPoll }: SyncOptions,
): Promise<RunRow> {
  const startedAt = performance.now();
  const before = pagesServed(scene);
  const { id } = await scene.api.sync(connectionId, resource);
  for (;;) {
    const run = await scene.api.run(id);
    if (run.finishedAt !== null) return run;
    const elapsedMs = performance.now() - startedAt;
    if (elapsedMs > runMsMax) throw new Error(`run ${id} is still ${run.status} after 5 minutes`);
    const page = `page ${pagesServed(scene) - before}${pages === undefined ? '' : `/${pages}`}`;
    scene.screen.progress(`${resource}  ${run.status}  ${page}  ${progressOf(run, scene, elapsedMs)}`);
    await onPoll?.(run);
    await sleep(pollMs, undefined, { signal: scene.signal });
  }
}

/** 0 without times of the run. */
export function recordsPerSecond({ startedAt, finishedAt, statsJson }: RunRow): number {
  if (startedAt === null || finishedAt === null) return 0;
  return Math.round((statsJson.recordsIn * 1000) / Math.max(1, Date.parse(finishedAt) - Date.parse(startedAt)));
}

/** `in 1,000  out 999  skipped 0  quarantined 1`. */
export const countsOf = ({ statsJson: { recordsIn, recordsOut, skipped, quarantined } }: RunRow): string =>
  `in ${count(recordsIn)}  out ${count(recordsOut)}  skipped ${count(skipped)}  quarantined ${count(quarantined)}`;

const pagesServed = ({ upstream }: Scene): number => Object.keys(upstream.journal().pages).length;

function progressOf(run: RunRow, { upstream }: Scene, elapsedMs: number): string {
  const { responses } = upstream.journal();
  const retries = (responses['429'] ?? 0) + (responses['503'] ?? 0);
  const rate = Math.round((run.statsJson.recordsIn * 1000) / elapsedMs);
  return `${countsOf(run)}  ${retries} retries  ${count(rate)} rec/s`;
}
