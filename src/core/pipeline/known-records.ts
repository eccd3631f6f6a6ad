import type { Receipt, RecordEntry } from './receipt.ts';

/** The settled version of a record, as far as the change filter needs it. */
export interface KnownRecord extends Pick<RecordEntry, 'hash' | 'cursor'> {
  readonly status: RecordEntry['status'] | 'deleted';
}

/** What is known of records: stored by earlier batches, or on its way in this run. */
export interface KnownRecords {
  /** The known among the given external ids. */
  find(externalIds: readonly string[]): Promise<ReadonlyMap<string, KnownRecord>>;
  /** Notes a version that is on its way: a later page sees it before it is stored. */
  expect(externalId: string, version: KnownRecord): void;
  /** Forgets a version that will not be stored after all. */
  forget(externalId: string): void;
  /** Forgets what a recorded batch carried: from now on the stored version says the same. */
  settle(receipt: Pick<Receipt, 'records' | 'deleted'>): void;
}

/** Known records over a store; `load` reads what is stored for the given ids. */
export function createKnownRecords(
  load: (externalIds: readonly string[]) => Promise<readonly (KnownRecord & { readonly externalId: string })[]>,
): KnownRecords {
  const expected = new Map<string, KnownRecord>();
  return {
    async find(externalIds) {
      const known = new Map<string, KnownRecord>();
      // Taken before the others are loaded: a batch that is settled meanwhile takes its versions with it.
      for (const id of externalIds) {
        const version = expected.get(id);
        if (version) known.set(id, version);
      }
      const missing = externalIds.filter((id) => !known.has(id));
      const stored = missing.length === 0 ? [] : await load(missing);
      for (const record of stored) known.set(record.externalId, record);
      return known;
    },
    expect: (externalId, version) => void expected.set(externalId, version),
    forget: (externalId) => void expected.delete(externalId),
    settle({ records, deleted }) {
      for (const { externalId, hash } of records) {
        if (expected.get(externalId)?.hash === hash) expected.delete(externalId);
      }
      for (const externalId of deleted) {
        if (expected.get(externalId)?.status === 'deleted') expected.delete(externalId);
      }
    },
  };
}
