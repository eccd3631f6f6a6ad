import { type Answer, type ContainedChild, startContainedChild } from './contained-child.ts';

/** One piece of work for a child. */
export interface Job {
  /** What the answer depends on, as one line of JSON. */
  readonly head: string;
  /** Bindings as one line of JSON; a child that was given this very text last is not sent it again. Null: needs none. */
  readonly bindings: string | null;
  /** The records or the input as one line of JSON. */
  readonly payload: string;
  /** The clock of this job in milliseconds, from its start in a child that is ready. */
  readonly timeoutMs: number;
  /** It belongs to a batch that died. Suspects never hold every child, so that others' jobs go on. */
  readonly suspect: boolean;
}

/** Children that work through a queue, first in first out. A child that dies is replaced when next needed. */
export interface ChildPool extends AsyncDisposable {
  /** Throws only when no child can be started or the pool is closed. */
  run(job: Job): Promise<Answer>;
}

/** A pool of at most `size` children, each started when first needed. */
export function createChildPool(options: { readonly size: number }): ChildPool {
  const suspectsMax = Math.max(1, options.size - 1);
  const queue: Waiting[] = [];
  const idle: Slot[] = [];
  const all = new Set<Slot>();
  let suspects = 0;
  const running = new Set<Promise<void>>();
  let closed = false;

  const takeNext = (): Waiting | undefined => {
    const index = queue.findIndex(({ job }) => !job.suspect || suspects < suspectsMax);
    return index === -1 ? undefined : queue.splice(index, 1)[0];
  };
  const dispatch = (): void => {
    while (idle.length > 0 || all.size < options.size) {
      const waiting = takeNext();
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
    if (job.suspect) suspects += 1;
    try {
      const answer = await askChild(slot, { job, isClosed: () => closed });
      if (answer.ok && !closed) idle.push(slot);
      else all.delete(slot);
      // A child ended by closing says nothing about its records.
      if (closed && !answer.ok) reject(closedError());
      else resolve(answer);
    } catch (error) {
      all.delete(slot);
      reject(error);
    } finally {
      if (job.suspect) suspects -= 1;
      dispatch();
    }
  };

  return {
    run: async (job) => {
      if (closed) throw closedError();
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      queue.push({ job, resolve, reject });
      dispatch();
      return await promise;
    },
    [Symbol.asyncDispose]: async () => {
      closed = true;
      for (const { reject } of queue.splice(0)) reject(closedError());
      await Promise.allSettled([...all].map(async (slot) => (await slot.child)?.kill()));
      await Promise.all(running);
    },
  };
}

const closedError = (): Error => new Error('The evaluator pool is closed');

interface Waiting {
  readonly job: Job;
  readonly resolve: (answer: Answer) => void;
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
): Promise<Answer> {
  const child = await liveChild(slot);
  if (isClosed()) {
    await child.kill();
    throw closedError();
  }
  const fresh = job.bindings === null || job.bindings === slot.bindings ? '' : job.bindings;
  slot.bindings = job.bindings ?? slot.bindings;
  return await child.ask([job.head, fresh, job.payload], job.timeoutMs);
}

/** The slot's child; another one when it has ended while idle, as the system may do when memory is short. */
async function liveChild(slot: Slot): Promise<ContainedChild> {
  const held = await slot.child;
  if (held?.isAlive()) return held;
  slot.bindings = null;
  slot.child = startContainedChild();
  return await slot.child;
}
