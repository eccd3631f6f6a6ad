import { atOnce } from '../core/work/at-once.ts';

/** Concurrent calls: a caller waits for all of them, and Temporal has other callers. */
const callsMax = 10;

export const someAtOnce = <Item>(items: readonly Item[], act: (item: Item) => Promise<void>): Promise<void> =>
  atOnce(items, callsMax, act);
