/** The result of one page of a batch: its counts, the state of its records, and its quarantine rows. */

import type { Deliverable, RejectedRow, Tombstone } from '../model/batch.ts';
import type { PageOutcome, RecordOutcome } from '../model/page-outcome.ts';
import type { FlaggedRecord, PageEntry, QuarantineEntry, RecordEntry } from '../model/receipt.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import type { RecordEnd, Versions } from './batch-versions.ts';
import { invalidRecord, type Masking, quarantineEntry } from './quarantine-entry.ts';

/** The parts of a resource that decide the outcome of a refused record. */
export type RefusingResource = Pick<Resource, 'key' | 'onInvalid'> & {
  readonly target: Pick<Resource['target'], 'mode' | 'onTypeConflict'>;
};

/** The batch's facts that decide the result of its pages. */
export interface PageOptions extends Masking {
  readonly superseded: Versions['superseded'];
  readonly isOvertaken: Versions['isOvertaken'];
  /** By row and tombstone, since a record may have several. */
  readonly rejections: ReadonlyMap<Deliverable | Tombstone | undefined, RejectedRow> | null;
  readonly resource: RefusingResource;
  readonly each: PageOutcome['each'];
  readonly isRetried: boolean;
  /** The batch has one outcome of each record, and each was fetched. */
  readonly isSimple: boolean;
  /** The table is appended to. */
  readonly everyVersion: boolean;
}

/** See the head of this file. */
export interface PageResult {
  readonly page: PageEntry;
  /** For a simple batch, with the external ids of deleted records. */
  readonly entries: readonly RecordEntry[];
  readonly gone: readonly string[];
  readonly flagged: readonly FlaggedRecord[];
  /** For any other batch. */
  readonly ends: readonly RecordEnd[];
  readonly quarantine: readonly QuarantineEntry[];
  readonly again: readonly QuarantineEntry[];
  readonly failure: string | null;
}

/** The result of a page, given the rejections of the destination; throws `record_invalid` as the resource says. */
export function pageResult(
  page: PageOutcome & Pick<PageEntry, 'pageNo' | 'requestKey'>,
  { superseded, isOvertaken, rejections, ...options }: PageOptions,
): PageResult {
  const entries: RecordEntry[] = [];
  const gone: string[] = [];
  const marked: FlaggedRecord[] = [];
  const ends: RecordEnd[] = [];
  const quarantine: QuarantineEntry[] = [];
  const again: QuarantineEntry[] = [];
  const { isRetried, isSimple } = options;
  const end = (externalId: string, status: RecordEnd['status'], entry: RecordEntry | null, version?: string) => {
    if (!isSimple) ends.push({ externalId, status, entry, isRetried, version: version ?? null });
    else if (status === 'deleted') gone.push(externalId);
    else if (entry) entries.push(entry);
  };
  let [recordsOut, deleted, flagged, failed, awaited] = [0, 0, 0, 0, 0];
  let failure: string | null = null;
  for (const outcome of page.outcomes) {
    if (outcome.kind === 'quarantine') {
      quarantine.push(outcome.row);
      end(outcome.row.externalId, 'quarantined', outcome.entry);
      continue;
    }
    if (superseded?.has(outcome)) continue;
    if (outcome.kind === 'wait') {
      if (!isOvertaken(outcome)) again.push(outcome.row);
      continue;
    }
    if (outcome.kind === 'leave') continue;
    if (outcome.kind === 'flag') {
      const { record, entry = null } = outcome;
      if (isSimple) {
        marked.push(record);
        if (entry) entries.push(entry);
      } else
        ends.push({
          externalId: record.externalId,
          status: 'flagged',
          entry,
          isRetried,
          version: null,
          flagged: record,
        });
      if (!outcome.isUndelivered) flagged += 1;
      continue;
    }
    if (outcome.kind === 'delete') {
      const { externalId, isUndelivered = false } = outcome.tombstone;
      const refusal = rejections?.get(outcome.tombstone);
      if (refusal) {
        const { entry, row } = keptDeletion(outcome, refusal, options);
        if (row) quarantine.push(row);
        if (row) end(externalId, 'quarantined', entry);
        continue;
      }
      end(externalId, 'deleted', null);
      if (isUndelivered) continue;
      deleted += 1;
      if (outcome.flagged) flagged += 1;
      continue;
    }
    const rejection = rejections?.get(outcome.row);
    if (rejection && failsRun(rejection, options)) {
      failed += 1;
      failure ??= invalidRecord(options.resource, issuesOf(rejection), options.redact).message;
      continue;
    }
    const { row, entry, version } = outcome;
    if (!rejection) {
      recordsOut += 1;
      if (outcome.again && !isOvertaken(outcome)) again.push(outcome.again);
      end(row.externalId, 'delivered', entry, version);
      continue;
    }
    quarantine.push(refusedEntry(outcome, rejection, options));
    if (rejection.isAwaited) awaited += 1;
    end(row.externalId, 'quarantined', entry && { ...entry, status: 'quarantined' });
  }
  const { pageNo, requestKey, carried, invalid } = page;
  const recordsIn = page.recordsIn - failed;
  // An awaited record is not a fault of the run: it is noted, and counts as skipped.
  const quarantined = quarantine.length - awaited;
  const skipped = recordsIn - carried - recordsOut - quarantined - flagged;
  const numbers = { recordsIn, recordsOut, quarantined, deleted, skipped, invalid };
  return { page: { pageNo, requestKey, ...numbers }, entries, gone, flagged: marked, ends, quarantine, again, failure };
}

/** A retried record is quarantined again, since it would otherwise fail every later run. */
const failsRun = ({ isNamed }: RejectedRow, { resource, isRetried }: Pick<PageOptions, 'resource' | 'isRetried'>) =>
  isNamed === true && resource.onInvalid !== 'quarantine' && !isRetried;

/**
 * Keeps the known state of a record whose deletion was refused; the next run that finds it deleted tries again. A
 * cursor may have passed a flagged record, so the next run retries it.
 */
function keptDeletion(
  { tombstone: { externalId }, record }: Extract<RecordOutcome, { readonly kind: 'delete' }>,
  refusal: RejectedRow,
  { redact, seal, each, everyVersion }: Pick<PageOptions, 'redact' | 'seal' | 'each' | 'everyVersion'>,
): { readonly row: QuarantineEntry | null; readonly entry: RecordEntry | null } {
  if (!record) return { row: null, entry: null };
  const { raw, sealed, retry } = record;
  const kept = { externalId, raw, each, sealed, retry, everyVersion };
  const row = quarantineEntry(kept, issuesOf(refusal), { redact, seal });
  return { row: { ...row, isAwaited: true }, entry: record.entry && { ...record.entry, status: 'quarantined' } };
}

const issuesOf = ({ message }: RejectedRow) => [{ path: '', message, keyword: 'destination' }];

/**
 * Quarantines a record whose values do not fit the table, unless the target fails the run. A retried record is
 * quarantined again, since it would otherwise fail every later run.
 */
function refusedEntry(
  { row, raw, sealed, retry }: Extract<RecordOutcome, { readonly kind: 'deliver' }>,
  rejection: RejectedRow,
  {
    resource,
    redact,
    seal,
    each,
    isRetried,
    everyVersion,
  }: Omit<PageOptions, 'superseded' | 'isOvertaken' | 'rejections' | 'isSimple'>,
): QuarantineEntry {
  const issues = issuesOf(rejection);
  const { isAwaited } = rejection;
  if (resource.target.onTypeConflict === 'fail' && !isRetried && !isAwaited)
    throw invalidRecord(resource, issues, redact);
  const kept = { externalId: row.externalId, raw, each, sealed, retry, everyVersion };
  return {
    ...quarantineEntry(kept, issues, { redact, seal }),
    ...(isAwaited && { isAwaited }),
  };
}
