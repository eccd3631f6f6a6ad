import type { Receipt, RecordEntry } from './receipt.ts';

/** The settled version of a record, as far as the change filter needs it. */
export interface KnownRecord extends Pick<RecordEntry, 'hash' | 'cursor'> {
  readonly status: RecordEntry['status'] | 'deleted';
}

/** What is known of records: stored by earlier batches, or on its way in this run. */
export interface KnownRecords {
  /** Begins to load what is stored of the given external ids; what is known of them is current until it is closed. */
  look(externalIds: readonly string[]): Promise<Look>;
  /** Notes a version that is on its way: a later page sees it before it is stored. */
  expect(externalId: string, version: KnownRecord): void;
  /** Forgets a version that will not be stored after all. */
  forget(externalId: string): void;
  /** Forgets what a recorded batch carried: from now on the stored version says the same. */
  settle(receipt: Pick<Receipt, 'records' | 'deleted'>): void;
}

/** What is known of the records of one page, while it decides about them. */
export interface Look extends Disposable {
  /** Undefined: nothing is known. */
  find(externalId: string): KnownRecord | undefined;
}

/** Known records over a store; `load` reads what is stored for the given ids. */
export function createKnownRecords(
  load: (externalIds: readonly string[]) => Promise<readonly (KnownRecord & { readonly externalId: string })[]>,
): KnownRecords {
  const expected = new Map<string, KnownRecord>();
  const looks = new Set<object>();
  // A look may have loaded what was stored before a batch was recorded: until it is closed, the batch stays expected.
  let recorded: Recorded[] = [];
  const forgetRecorded = (): void => {
    for (const { receipt, looksBefore } of recorded) if (looksBefore.size === 0) drop(receipt);
    recorded = recorded.filter(({ looksBefore }) => looksBefore.size > 0);
  };
  const drop = ({ records, deleted }: Pick<Receipt, 'records' | 'deleted'>): void => {
    for (const { externalId, hash } of records) {
      if (expected.get(externalId)?.hash === hash) expected.delete(externalId);
    }
    for (const externalId of deleted) {
      if (expected.get(externalId)?.status === 'deleted') expected.delete(externalId);
    }
  };
  return {
    async look(externalIds) {
      const look = {};
      looks.add(look);
      const close = () => {
        looks.delete(look);
        for (const { looksBefore } of recorded) looksBefore.delete(look);
        forgetRecorded();
      };
      try {
        const stored = new Map<string, KnownRecord>();
        for (const record of externalIds.length === 0 ? [] : await load(externalIds))
          stored.set(record.externalId, record);
        return { find: (id) => expected.get(id) ?? stored.get(id), [Symbol.dispose]: close };
      } catch (error) {
        close();
        throw error;
      }
    },
    expect: (externalId, version) => void expected.set(externalId, version),
    forget: (externalId) => void expected.delete(externalId),
    settle(receipt) {
      recorded.push({ receipt, looksBefore: new Set(looks) });
      forgetRecorded();
    },
  };
}

/** A batch that is stored, and the looks that may not have seen it there. */
interface Recorded {
  readonly receipt: Pick<Receipt, 'records' | 'deleted'>;
  readonly looksBefore: Set<object>;
}
