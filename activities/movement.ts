import type { SlotLending } from '../src/temporal/worker-slots.ts';

export interface Movement extends Disposable {
  moved(): void;
  check(): void;
}

/** Milliseconds without progress before the slot is lent: the other side is then silent, not slow. */
const silentMs = 10_000;

/** A chunk keeps its slot while it reads pages or applies batches, and lends it while it waits for the customer's systems. */
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
