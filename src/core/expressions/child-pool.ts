import { observations } from '../observations.ts';
import { createFairQueue } from '../work/fair-queue.ts';
import { type ChildResponse, type ContainedChild, startContainedChild } from './contained-child.ts';

/** One piece of work for a child. */
interface Job {
  /** The org of the job: waiting orgs are served in turn. */
  readonly orgId: string;
  /** What the response depends on, as one line of JSON. */
  readonly head: string;
  /** Bindings as one line of JSON; a child that already holds this text does not get it again. Null: needs none. */
  readonly bindings: string | null;
  /** The records or the input as one line of JSON. */
  readonly payload: string;
  /** The time limit of this job in milliseconds, from its start in a child that is ready. */
  readonly timeoutMs: number;
  /**
   * Whether it belongs to a batch that ended its child. Suspects never occupy every child, so that others' jobs
   * continue.
   */
  readonly suspect: boolean;
}

/**
 * Children that serve the waiting orgs in turn, first in first out within each org. No org and no suspects occupy every
 * child: one stays free for others, which need not wait for long jobs. A dead child is replaced when next needed.
 */
export interface ChildPool extends AsyncDisposable {
  /** Throws only when no child can be started or the pool is closed. */
  run(job: Job): Promise<ChildResponse>;
  counts(): ChildCounts;
}

/** How much a pool has to do. */
export interface ChildCounts {
  /** Children at most. */
  readonly size: number;
  /** Children that are started. */
  readonly started: number;
  /** Jobs in a child. */
  readonly busy: number;
  /** Jobs that wait for one. */
  readonly waiting: number;
}

/** A pool of at most `size` children, each started when first needed; one of size 1 is no protection against others. */
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

/** A place for a child; `bindings` is the text its child holds. */
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

/** The slot's child, or a new one if it has ended while idle, as the system may do when memory is short. */
async function liveChild(slot: Slot): Promise<ContainedChild> {
  const held = await slot.child;
  if (held?.isAlive()) return held;
  slot.bindings = null;
  slot.child = startContainedChild();
  return await slot.child;
}
