import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';

export interface SlotLending {
  /** A lent slot counts as free; call the result to reclaim it. */
  lend(): () => void;
}

export interface Slots extends SlotLending {
  /** A slot for work outside the queue, or `null` if none is free; call the result to release it. */
  tryTake(): (() => void) | null;
}

export interface LendableSlots extends Slots {
  readonly supplier: CustomSlotSupplier<ActivitySlotInfo>;
  counts(): SlotCounts;
}

export interface SlotCounts {
  /** Slots in use at once, not counting lent ones. */
  readonly size: number;
  readonly lent: number;
}

/** Activities per slot, lent ones included: an activity that waits holds little memory. */
const activitiesPerSlot = 10;

/** Slots taken outside the queue at once: each holds one of the 40 workflow tasks that a worker executes. */
const takenMax = 20;

/** A reclaimed slot counts again at once, so for a while more than `count` may be in use. */
export function createLendableSlots(count: number): LendableSlots {
  const waiting = new Set<(permit: SlotPermit) => void>();
  let issued = 0;
  let lent = 0;
  let taken = 0;
  const tryIssue = (): SlotPermit | null => {
    if (issued - lent >= count || issued >= count * activitiesPerSlot) return null;
    issued += 1;
    return {};
  };
  const issueWaiting = (): void => {
    for (const resolve of waiting) {
      const permit = tryIssue();
      if (permit === null) return;
      waiting.delete(resolve);
      resolve(permit);
    }
  };
  const release = (): void => {
    issued -= 1;
    issueWaiting();
  };
  return {
    tryTake() {
      if (taken >= takenMax || tryIssue() === null) return null;
      taken += 1;
      return () => {
        taken -= 1;
        release();
      };
    },
    lend() {
      lent += 1;
      issueWaiting();
      return () => {
        lent -= 1;
      };
    },
    counts: () => ({ size: count, lent }),
    supplier: {
      type: 'custom',
      tryReserveSlot: tryIssue,
      reserveSlot(_, signal) {
        const permit = tryIssue();
        if (permit !== null) return Promise.resolve(permit);
        return new Promise((resolve, reject) => {
          waiting.add(resolve);
          const giveUp = () => {
            waiting.delete(resolve);
            reject(signal.reason);
          };
          signal.addEventListener('abort', giveUp, { once: true });
        });
      },
      markSlotUsed() {},
      releaseSlot: release,
    },
  };
}
