/** Slices of long work on the one thread of a process, which serves many orgs and owes their heartbeats. */
import { orgOfWork } from '../work-ids.ts';
import { createFairQueue } from './fair-queue.ts';

const waiting = createFairQueue<() => void>();

/**
 * Waits for the turn of one slice of long work. Each turn of the event loop runs one slice, with the orgs in turn
 * ({@link orgOfWork}), so short work waits for one slice only.
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
