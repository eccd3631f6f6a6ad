import type { Destination } from '../destinations/destination.ts';
import { takenOver } from '../errors.ts';
import type { StartPoint } from './repair.ts';
import type { RunLedger } from './run-ledger.ts';

/** The destination is not where the ledger says: the next attempt claims the lane there before it reads. */
export class DestinationMovedError extends Error {
  override readonly name = 'DestinationMovedError';
}

interface LazyOptions {
  readonly destination: Destination;
  readonly ledger: RunLedger;
  readonly open: (batchNo: number) => Promise<StartPoint>;
}

/** A destination that is opened only if needed. */
export interface LazyDestination extends Pick<Destination, 'prepare' | 'apply'> {
  readonly isOpen: boolean;
}

/**
 * Connects to the destination at the first batch that brings something, so a run without news leaves it alone. `apply`
 * throws {@link DestinationMovedError} if the destination is not where the ledger says.
 */
export function createLazyDestination({ destination, ledger, open }: LazyOptions): LazyDestination {
  let isOpen = false;
  return {
    get isOpen() {
      return isOpen;
    },
    prepare(batch) {
      if (isOpen) destination.prepare(batch);
    },
    async apply(batch) {
      if (!isOpen) {
        if (!(await ledger.clearRecordedWith())) throw takenOver();
        const { fresh, carried, batchNo } = await open(batch.batchNo - 1);
        if (fresh || carried.length > 0 || batchNo !== batch.batchNo - 1) throw new DestinationMovedError();
        isOpen = true;
      }
      return await destination.apply(batch);
    },
  };
}
