import type { SlotLending } from '../src/temporal/worker-slots.ts';

/** Whether anything of a chunk moves: a page that comes, a batch that arrives. */
export interface Movement extends Disposable {
  /** Something has moved. */
  moved(): void;
  /** Called from time to time: lends the slot of the chunk if nothing has moved for a while. */
  check(): void;
}

/** So long nothing moves before the slot is lent, ms: the other side is silent then, not slow. */
const silentMs = 10_000;

/** The slot of a chunk is its own while something moves, and others' while the customer's systems let it wait. */
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
