import type { SlotLending } from '../src/temporal/worker-slots.ts';

/** Whether a chunk makes progress: a page is read, or a batch is applied. */
export interface Movement extends Disposable {
  /** The chunk made progress. */
  moved(): void;
  /** Checks the movement. Called periodically: lends the slot of the chunk after a while without progress. */
  check(): void;
}

/** The milliseconds without progress before the slot is lent: the other side is then silent, not slow. */
const silentMs = 10_000;

/** A chunk keeps its slot while it makes progress, and lends it while it waits for the customer's systems. */
export function watchMovement(slots: SlotLending, now: () => number = () => performance.now()): Movement {
  let movedAt = now();
  let takeBack: (() => void) | null = null;
  const moved = () => {
    movedAt = now();
    takeBack?.();
    takeBack = null;
  };
  return {
    moved,
    check() {
      if (now() - movedAt >= silentMs) takeBack ??= slots.lend();
    },
    [Symbol.dispose]: moved,
  };
}
