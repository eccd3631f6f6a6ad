import type { Receipt, RecordEntry } from '../model/receipt.ts';
import { type IdKey, idKey } from './id-key.ts';

/** The recorded version of a record, as the change filter needs it. */
export interface KnownRecord extends Pick<RecordEntry, 'hash' | 'cursor'> {
  /** `undelivered`: quarantined, with nothing at the destination; `flagged`: it says that it is deleted, and still has to be. */
  readonly status: RecordEntry['status'] | 'undelivered' | 'flagged' | 'deleted';
  /** Read by this run, but not recorded yet. */
  readonly isOnWay?: true;
}

/** Known versions of records: stored by earlier batches, or on their way in this run. */
export interface KnownRecords {
  /** Loads the stored versions of the given external ids; the snapshot stays current until it is closed. */
  snapshot(externalIds: readonly string[]): Promise<Snapshot>;
  /** Notes a version on its way, so that a later page sees it before it is stored. */
  noteOnWay(externalId: string, version: KnownRecord): void;
  /** Whether an earlier run read the version that was acknowledged in this one; true once for each. */
  takeCarried(externalId: string): boolean;
  /** Drops a version that will not be stored after all; a later page may have noted another one. */
  forget(externalId: string, hash: string | null): void;
  /** Drops recorded versions from those on their way, once every open snapshot shows them as stored. */
  commit(receipt: Pick<Receipt, 'records' | 'deleted' | 'flagged'>): void;
}

/** The known versions of the records of one page, while it is filtered. */
export interface Snapshot extends Disposable {
  find(externalId: string): KnownRecord | undefined;
}

/** Known records over a store; `carried` are external ids of records read by an earlier run but acknowledged in this one. */
export function createKnownRecords(
  load: (externalIds: readonly string[]) => Promise<readonly (KnownRecord & { readonly externalId: string })[]>,
  carried: readonly string[] = [],
): KnownRecords {
  const leftOfCarried = new Set(carried.map(idKey));
  const onWay = new Map<IdKey, VersionOnWay>();
  const snapshots = new Set<object>();
  // A snapshot may predate the recording of a batch, which stays on its way until the snapshot is closed.
  let recorded: Recorded[] = [];
  const forgetRecorded = (): void => {
    for (const { noted, snapshotsBefore } of recorded) if (snapshotsBefore.size === 0) drop(noted);
    recorded = recorded.filter(({ snapshotsBefore }) => snapshotsBefore.size > 0);
  };
  const drop = (noted: readonly Noted[]): void => {
    for (const { key, found } of noted) if (onWay.get(key) === found) onWay.delete(key);
  };
  return {
    async snapshot(externalIds) {
      const snapshot = {};
      snapshots.add(snapshot);
      const close = () => {
        snapshots.delete(snapshot);
        for (const { snapshotsBefore } of recorded) snapshotsBefore.delete(snapshot);
        forgetRecorded();
      };
      try {
        const stored = new Map<IdKey, KnownRecord>();
        for (const record of externalIds.length === 0 ? [] : await load(externalIds))
          stored.set(idKey(record.externalId), record);
        const find = (externalId: string): KnownRecord | undefined => {
          const key = idKey(externalId);
          return onWay.get(key)?.version ?? stored.get(key);
        };
        return { find, [Symbol.dispose]: close };
      } catch (error) {
        close();
        throw error;
      }
    },
    noteOnWay(externalId, version) {
      const key = idKey(externalId);
      onWay.set(key, { version, replaced: onWay.get(key)?.version ?? null });
    },
    takeCarried: (externalId) => leftOfCarried.size > 0 && leftOfCarried.delete(idKey(externalId)),
    forget(externalId, hash) {
      const key = idKey(externalId);
      const { version, replaced = null } = onWay.get(key) ?? {};
      if (version === undefined || version.hash !== hash) {
        if (version && replaced?.hash === hash) onWay.set(key, { version, replaced: null });
      } else if (replaced === null) onWay.delete(key);
      else onWay.set(key, { version: replaced, replaced: null });
    },
    commit(receipt) {
      recorded.push({ noted: versionsIn(receipt, onWay), snapshotsBefore: new Set(snapshots) });
      forgetRecorded();
    },
  };
}

/** The versions on their way that a receipt records, unless a later page has replaced them. */
function versionsIn(
  { records, deleted, flagged = [] }: Pick<Receipt, 'records' | 'deleted' | 'flagged'>,
  onWay: ReadonlyMap<IdKey, VersionOnWay>,
): readonly Noted[] {
  const noted: Noted[] = [];
  for (const { externalId, hash } of records) {
    const key = idKey(externalId);
    const found = onWay.get(key);
    if (found?.version.hash === hash) noted.push({ key, found });
  }
  for (const externalId of [...deleted, ...flagged.map((record) => record.externalId)]) {
    const key = idKey(externalId);
    const found = onWay.get(key);
    if (found?.version.status === 'deleted') noted.push({ key, found });
  }
  return noted;
}

interface VersionOnWay {
  readonly version: KnownRecord;
  /** The version before it, if that is on its way too. */
  readonly replaced: KnownRecord | null;
}

interface Noted {
  readonly key: IdKey;
  readonly found: VersionOnWay;
}

interface Recorded {
  readonly noted: readonly Noted[];
  readonly snapshotsBefore: Set<object>;
}
