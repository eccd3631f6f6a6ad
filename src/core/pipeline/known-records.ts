import type { Receipt, RecordEntry } from '../model/receipt.ts';
import { type IdKey, idKey } from './id-key.ts';

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
  /** Whether a run before this one read the version that this one had acknowledged; true once for each. */
  takeCarried(externalId: string): boolean;
  /** Forgets the latest version, which will not be stored after all. */
  forget(externalId: string): void;
  /** Forgets what a recorded batch carried, as soon as every open look has seen it stored. */
  settle(receipt: Pick<Receipt, 'records' | 'deleted'>): void;
}

/** What is known of the records of one page, while it decides about them. */
export interface Look extends Disposable {
  /** Undefined: nothing is known. */
  find(externalId: string): KnownRecord | undefined;
}

/**
 * Known records over a store; `load` reads what is stored for the given ids. `carried`: external ids of what an earlier run
 * read and this one had acknowledged.
 */
export function createKnownRecords(
  load: (externalIds: readonly string[]) => Promise<readonly (KnownRecord & { readonly externalId: string })[]>,
  carried: readonly string[] = [],
): KnownRecords {
  const leftOfCarried = new Set(carried.map(idKey));
  const expected = new Map<IdKey, Expected>();
  const looks = new Set<object>();
  // A look may have loaded what was stored before a batch was recorded: until it is closed, the batch stays expected.
  let recorded: Recorded[] = [];
  const forgetRecorded = (): void => {
    for (const { noted, looksBefore } of recorded) if (looksBefore.size === 0) drop(noted);
    recorded = recorded.filter(({ looksBefore }) => looksBefore.size > 0);
  };
  const drop = (noted: readonly Noted[]): void => {
    for (const { key, found } of noted) if (expected.get(key) === found) expected.delete(key);
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
        const stored = new Map<IdKey, KnownRecord>();
        for (const record of externalIds.length === 0 ? [] : await load(externalIds))
          stored.set(idKey(record.externalId), record);
        const find = (externalId: string): KnownRecord | undefined => {
          const key = idKey(externalId);
          return expected.get(key)?.version ?? stored.get(key);
        };
        return { find, [Symbol.dispose]: close };
      } catch (error) {
        close();
        throw error;
      }
    },
    expect(externalId, version) {
      const key = idKey(externalId);
      expected.set(key, { version, replaced: expected.get(key)?.version ?? null });
    },
    takeCarried: (externalId) => leftOfCarried.size > 0 && leftOfCarried.delete(idKey(externalId)),
    forget(externalId) {
      const key = idKey(externalId);
      const replaced = expected.get(key)?.replaced ?? null;
      if (replaced === null) expected.delete(key);
      else expected.set(key, { version: replaced, replaced: null });
    },
    settle({ records, deleted }) {
      const noted: Noted[] = [];
      for (const { externalId, hash } of records) {
        const key = idKey(externalId);
        const found = expected.get(key);
        if (found?.version.hash === hash) noted.push({ key, found });
      }
      for (const externalId of deleted) {
        const key = idKey(externalId);
        const found = expected.get(key);
        if (found?.version.status === 'deleted') noted.push({ key, found });
      }
      recorded.push({ noted, looksBefore: new Set(looks) });
      forgetRecorded();
    },
  };
}

interface Expected {
  readonly version: KnownRecord;
  /** On its way too, before it; null: none was. */
  readonly replaced: KnownRecord | null;
}

/** What was on its way for a record when its batch was recorded. */
interface Noted {
  readonly key: IdKey;
  readonly found: Expected;
}

/** A batch that is stored: what it made of records, and the looks that may not have seen it there. */
interface Recorded {
  readonly noted: readonly Noted[];
  readonly looksBefore: Set<object>;
}
