import type { ChildProcess } from 'node:child_process';
import type { Log } from '../log.ts';
import { identify, type StopOptions, stopProcess } from './embedded/process-table.ts';
import type { Guardian } from './embedded/start-guardian.ts';
import { watchResponses } from './watchdog.ts';

export interface ProcessPlan {
  readonly name: string;
  readonly spawn: () => ChildProcess;
  readonly stop: StopOptions;
  /** The guardian stops lower ranks first when we are killed. */
  readonly rank: number;
  /** Restarted when it no longer responds to probes over IPC (`parent-watch.ts`). */
  readonly isProbed?: boolean;
}

export interface Surroundings {
  readonly guardian: Guardian;
  readonly log: Log;
  /** The pids have changed; also called after the first start. */
  readonly onStart?: () => void;
}

/** Restarted whenever it ends, until it is stopped. */
export interface SupervisedProcess {
  /** `null` while it waits for its next start. */
  pid(): number | null;
  current(): ChildProcess;
  /** Supervision then restarts it. */
  kill(signal: NodeJS.Signals): void;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** In milliseconds, doubled with each death in a row. The API serves again 1 s after the first (measured). */
const backoff = { firstMs: 250, maxMs: 15_000 };
/** After this life in milliseconds, the next death counts as the first. */
const soundAfterMs = 30_000;

/** The guardian stops it when we are killed. */
export function superviseProcess(plan: ProcessPlan, { guardian, log, onStart }: Surroundings): SupervisedProcess {
  let deaths = 0;
  let stopping = false;
  let timer: NodeJS.Timeout | undefined;
  let child = launch();

  function launch(): ChildProcess {
    const startedAt = Date.now();
    const launched = plan.spawn();
    if (launched.pid !== undefined) guardian.watch(launched.pid, { ...plan.stop, rank: plan.rank });
    if (plan.isProbed) watchResponses(launched, () => endSilent(launched));
    launched.once('error', (error) => log.error('process could not be started', { process: plan.name, error }));
    launched.once('close', (code, signal) => {
      if (!stopping) again({ code, signal, livedMs: Date.now() - startedAt });
    });
    return launched;
  }

  function endSilent(silent: ChildProcess): void {
    log.error('process does not respond, killing it', { process: plan.name, processId: silent.pid });
    silent.kill('SIGKILL');
  }

  function again(end: {
    readonly code: number | null;
    readonly signal: string | null;
    readonly livedMs: number;
  }): void {
    if (end.livedMs >= soundAfterMs) deaths = 0;
    const waitMs = Math.min(backoff.firstMs * 2 ** deaths, backoff.maxMs);
    deaths += 1;
    log.warn('process ended, starting it again', { process: plan.name, ...end, waitMs });
    timer = setTimeout(relaunch, waitMs);
  }

  function relaunch(): void {
    child = launch();
    log.info('process started again', { process: plan.name, processId: child.pid });
    onStart?.();
  }

  async function stop(): Promise<void> {
    stopping = true;
    clearTimeout(timer);
    const identity = isUp(child) && child.pid !== undefined ? identify(child.pid) : null;
    if (!identity) return;
    const closed = new Promise((done) => child.once('close', done));
    await stopProcess(identity, plan.stop);
    await closed;
  }

  return {
    pid: () => (isUp(child) ? (child.pid ?? null) : null),
    current: () => child,
    kill: (signal) => void child.kill(signal),
    async restart() {
      await stop();
      stopping = false;
      relaunch();
    },
    stop,
  };
}

const isUp = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;
