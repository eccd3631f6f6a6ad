/** Slices of long work on the one thread of a process, which does the work of many orgs and owes their heartbeats. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createFairQueue } from './fair-queue.ts';

const waiting = createFairQueue<() => void>();
const owner = new AsyncLocalStorage<string>();

/** Does the work of an org: its slices then wait behind each other, and not before those of other orgs. */
export const workOf = <Result>(orgId: string, work: () => Promise<Result>): Promise<Result> => owner.run(orgId, work);

/** The org whose work this is; empty: it was not said. */
export const orgOfWork = (): string => owner.getStore() ?? '';

/**
 * Waits for the turn of one slice of long work. Each turn of the event loop runs one slice of all long work, the orgs
 * in turn. So short work waits for one slice only, however many runs have much to do.
 */
export function nextSlice(): Promise<void> {
  return new Promise((begin) => {
    waiting.add(orgOfWork(), begin);
    if (waiting.size() === 1) setImmediate(beginOne);
  });
}

function beginOne(): void {
  waiting.take(() => true)?.();
  if (waiting.size() > 0) setImmediate(beginOne);
}
