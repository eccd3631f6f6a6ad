/** Slices of long work on the one thread of a process, which does the work of many orgs and owes their heartbeats. */

const waiting: (() => void)[] = [];

/**
 * Waits for the turn of one slice of long work. One slice of all long work runs in each turn of the event loop, first come
 * first served: whatever is short waits for one slice, and not for one of each run that has much to do.
 */
export function nextSlice(): Promise<void> {
  return new Promise((begin) => {
    waiting.push(begin);
    if (waiting.length === 1) setImmediate(beginOne);
  });
}

function beginOne(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(beginOne);
}
