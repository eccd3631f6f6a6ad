import { observations } from '../observations.ts';
import { createFairQueue } from '../work/fair-queue.ts';
import { type ChildResponse, type ContainedChild, startContainedChild } from './contained-child.ts';

interface Job {
  readonly orgId: string;
  /** Expression and options; this and the next two are one line of JSON each. */
  readonly head: string;
  /** Not sent again to a child that holds this text; `null` if the job needs none. */
  readonly bindings: string | null;
  readonly payload: string;
  /** Milliseconds from the job's start in a child that is ready. */
  readonly timeoutMs: number;
  /** Whether its batch ended a child before. Suspects never occupy every child, so that others' jobs continue. */
  readonly suspect: boolean;
}

/**
 * Serves the waiting orgs in turn, first in first out within each. No org and no suspects occupy every child; a dead
 * child is replaced when next needed.
 */
export interface ChildPool extends AsyncDisposable {
  /** Throws only when no child can be started or the pool is closed. */
  run(job: Job): Promise<ChildResponse>;
  counts(): ChildCounts;
}

/** `size` and `started` count children, `busy` and `waiting` count jobs. */
export interface ChildCounts {
  readonly size: number;
  readonly started: number;
  readonly busy: number;
  readonly waiting: number;
}

/** Starts each child when first needed; size 1 does not protect orgs from each other. */
export function createChildPool(options: { readonly size: number }): ChildPool {
  const heldMax = Math.max(1, options.size - 1);
  const queue = createFairQueue<Waiting>();
  const idle: Slot[] = [];
  const all = new Set<Slot>();
  const busy = new Set<Job>();
  const running = new Set<Promise<void>>();
  let closed = false;

  const holdsFewer = (those: (job: Job) => boolean): boolean => [...busy].filter(those).length < heldMax;
  const mayBegin = (orgId: string, { job }: Waiting): boolean =>
    holdsFewer((other) => other.orgId === orgId) && (!job.suspect || holdsFewer((other) => other.suspect));
  const dispatch = (): void => {
    while (idle.length > 0 || all.size < options.size) {
      const waiting = queue.take(mayBegin);
      if (waiting === undefined) return;
      const work = serve(takeSlot(waiting.job), waiting);
      running.add(work);
      void work.finally(() => running.delete(work));
    }
  };
  const takeSlot = (job: Job): Slot => {
    const knowing = idle.findIndex((slot) => slot.bindings === job.bindings);
    const [slot = { child: null, bindings: null }] = idle.splice(Math.max(knowing, 0), 1);
    all.add(slot);
    return slot;
  };
  const serve = async (slot: Slot, { job, resolve, reject }: Waiting): Promise<void> => {
    busy.add(job);
    try {
      const response = await askChild(slot, { job, isClosed: () => closed });
      if (response.ok && !closed) idle.push(slot);
      else all.delete(slot);
      if (!response.ok && !closed) observations.evaluatorEnded.publish({ reason: response.reason });
      // A child that is ended by closing the pool proves nothing about its records.
      if (closed && !response.ok) reject(closedError());
      else resolve(response);
    } catch (error) {
      all.delete(slot);
      reject(error);
    } finally {
      busy.delete(job);
      dispatch();
    }
  };

  return {
    run: async (job) => {
      if (closed) throw closedError();
      const { promise, resolve, reject } = Promise.withResolvers<ChildResponse>();
      queue.add(job.orgId, { job, resolve, reject });
      dispatch();
      return await promise;
    },
    counts: () => ({ size: options.size, started: all.size, busy: busy.size, waiting: queue.size() }),
    [Symbol.asyncDispose]: async () => {
      closed = true;
      for (const { reject } of queue.clear()) reject(closedError());
      await Promise.allSettled([...all].map(async (slot) => (await slot.child)?.kill()));
      await Promise.all(running);
    },
  };
}

const closedError = (): Error => new Error('The evaluator pool is closed');

interface Waiting {
  readonly job: Job;
  readonly resolve: (response: ChildResponse) => void;
  readonly reject: (error: unknown) => void;
}

interface Slot {
  child: Promise<ContainedChild> | null;
  bindings: string | null;
}

async function askChild(
  slot: Slot,
  { job, isClosed }: { readonly job: Job; readonly isClosed: () => boolean },
): Promise<ChildResponse> {
  const child = await liveChild(slot);
  if (isClosed()) {
    await child.kill();
    throw closedError();
  }
  const fresh = job.bindings === null || job.bindings === slot.bindings ? '' : job.bindings;
  slot.bindings = job.bindings ?? slot.bindings;
  return await child.ask([job.head, fresh, job.payload], job.timeoutMs);
}

/** A child may end while idle, as when the system is short of memory. */
async function liveChild(slot: Slot): Promise<ContainedChild> {
  const held = await slot.child;
  if (held?.isAlive()) return held;
  slot.bindings = null;
  slot.child = startContainedChild();
  return await slot.child;
}
