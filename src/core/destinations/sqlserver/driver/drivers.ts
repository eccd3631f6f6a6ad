import { createTurns } from '../../../work/turns.ts';
import { type DriverChild, startDriverChild } from './children.ts';

export interface DriverLease {
  readonly child: DriverChild;
  /** Keeps the process for the org's next session or ends it. Repeated calls do nothing. */
  readonly release: () => Promise<void>;
}

/**
 * A process takes 43 MB of its own: 2.8 GB at most, and no org has more than a quarter of them. A worker runs 20 activities by
 * default.
 */
const turns = createTurns({ max: 64, maxEach: 16 });

/** Idle processes of all orgs together: 170 MB. */
const idleMax = 4;
/** Milliseconds until an idle process ends; the chunks of a run follow each other at once. */
const idleMs = 30_000;
const closeMs = 2000;

interface Idle {
  readonly orgId: string;
  readonly child: DriverChild;
  readonly timer: NodeJS.Timeout;
}

/** Longest idle first. */
const idle: Idle[] = [];

/**
 * Never leases a process that has talked to another org's server. Waits while the org or all orgs have too many. Throws when the
 * process does not start within 30 s.
 */
export async function leaseDriver(orgId: string): Promise<DriverLease> {
  const giveBack = await turns.take(orgId);
  try {
    const child = takeIdle(orgId) ?? (await startDriverChild());
    child.hold(true);
    let isReleased = false;
    const release = async (): Promise<void> => {
      if (isReleased) return;
      isReleased = true;
      await child.ask({ type: 'close' }, { timeoutMs: closeMs }).catch(() => child.kill());
      child.hold(false);
      if (child.isAlive()) keep(orgId, child);
      giveBack();
    };
    return { child, release };
  } catch (error) {
    giveBack();
    throw error;
  }
}

function takeIdle(orgId: string): DriverChild | null {
  const index = idle.findLastIndex((one) => one.orgId === orgId && one.child.isAlive());
  const [found] = index === -1 ? [] : idle.splice(index, 1);
  if (!found) return null;
  clearTimeout(found.timer);
  return found.child;
}

function keep(orgId: string, child: DriverChild): void {
  const timer = setTimeout(() => drop(child), idleMs).unref();
  idle.push({ orgId, child, timer });
  if (idle.length > idleMax && idle[0]) drop(idle[0].child);
}

function drop(child: DriverChild): void {
  const index = idle.findIndex((one) => one.child === child);
  for (const { timer } of index === -1 ? [] : idle.splice(index, 1)) clearTimeout(timer);
  child.kill();
}
