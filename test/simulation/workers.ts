import { CancelledFailure } from '@temporalio/common';
import { createRunActivities } from '../../activities/run-lifecycle.ts';
import { createSyncActivities } from '../../activities/sync-pages.ts';
import type { Deps } from '../../src/deps.ts';
import { repairSilentRuns, startMissedRuns } from '../../src/maintenance/run-sweep.ts';
import { type Counts, count } from './effects.ts';
import type { Random } from './random.ts';
import type { Scheduler, SimProcess } from './scheduler.ts';
import type { SimWorker } from './temporal-tasks.ts';

interface WorkersOptions {
  readonly deps: Deps;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly counts: Counts;
  readonly say: (line: string) => void;
  /** Those that live; kept up to date. */
  readonly workers: SimWorker[];
}

/** What happens to the workers. One that ended is replaced after a while. */
interface Workers {
  start(): void;
  kill(worker: SimWorker): void;
  freeze(worker: SimWorker): void;
  /** An orderly stop of one: it takes no new work, and what runs may end within 10 s. */
  shutDown(): void;
}

/** The workers of the simulation: none until the first start. */
export function createWorkers({ deps, scheduler, random, counts, say, workers }: WorkersOptions): Workers {
  let incarnations = 0;
  /** Maintenance runs in the worker, every second. */
  const sweep = (process: SimProcess): void => {
    const round = async (): Promise<void> => {
      try {
        await startMissedRuns(deps);
        await repairSilentRuns(deps);
      } catch {
        // The next round tries again.
      }
      scheduler.after(1000, () => void round(), process);
    };
    scheduler.after(random.between(0, 1000), () => void round(), process);
  };
  const start = (): void => {
    incarnations += 1;
    const process: SimProcess = { name: `worker ${incarnations}`, alive: true, frozenUntil: 0 };
    const slots = { lend: () => () => undefined, tryTake: () => () => undefined };
    const activities = { ...createSyncActivities(deps, slots, notSimulated), ...createRunActivities(deps) };
    workers.push({ process, activities: activities as unknown as SimWorker['activities'], running: new Set() });
    sweep(process);
  };
  return {
    start,
    kill(worker) {
      workers.splice(workers.indexOf(worker), 1);
      worker.process.alive = false;
      count(counts, 'kills');
      if (worker.running.size > 0) count(counts, 'kills of a worker with activities');
      say(`kill ${worker.process.name}`);
      scheduler.after(random.between(200, 8000), start);
    },
    freeze({ process, running }) {
      process.frozenUntil = scheduler.now() + random.between(500, 25_000);
      count(counts, 'freezes');
      if (running.size > 0) count(counts, 'zombies');
      say(`freeze ${process.name} until ${new Date(process.frozenUntil).toISOString().slice(11, 23)}`);
    },
    shutDown() {
      const worker = workers.pop();
      if (!worker) return;
      count(counts, 'shutdowns');
      say(`shut down ${worker.process.name}`);
      for (const { stop } of worker.running) stop.abort(new CancelledFailure('WORKER_SHUTDOWN'));
      scheduler.after(12_000, () => {
        worker.process.alive = false;
      });
      scheduler.after(random.between(200, 3000), start);
    },
  };
}

/** Firings of schedules. */
const notSimulated = () => Promise.reject(new Error('No schedule fires here'));
