import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';

/** Lends the slot of an activity that waits for an external system. */
export interface SlotLending {
  /** Lends the slot: from now on it counts as free; what is returned takes it back. */
  lend(): () => void;
}

/** The slots of a worker as its activities see them. */
export interface Slots extends SlotLending {
  /** Takes a slot for work outside the queue; what is returned gives it back. Null: none is free. */
  tryTake(): (() => void) | null;
}

/** The slots of a worker, and how its activities lend them. */
export interface LendableSlots extends Slots {
  readonly supplier: CustomSlotSupplier<ActivitySlotInfo>;
  counts(): SlotCounts;
}

/** The slots of a worker for chunks of runs. */
export interface SlotCounts {
  /** The slots in use at once, not counting those that are lent. */
  readonly size: number;
  /** The slots lent by activities that wait for an external system. */
  readonly lent: number;
}

/** Activities of a worker for each of its slots, lent ones included: an activity that waits holds little memory. */
const activitiesPerSlot = 10;

/** Slots taken outside the queue at once: each holds one of the 40 tasks of workflows that a worker works on. */
const takenMax = 20;

/**
 * Slots of which `count` are in use at once, not counting those that are lent. One that is taken back counts again at
 * once, so that for a while more may be in use.
 */
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
