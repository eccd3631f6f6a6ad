import type { Batch, Deliverable, RejectedRow, Tombstone } from '../model/batch.ts';
import type { PageOutcome, RecordOutcome } from '../model/page-outcome.ts';
import {
  encodeReceipt,
  type PageEntry,
  type PartitionEntry,
  type PartitionProof,
  type QuarantineEntry,
  type Receipt,
  type RecordEntry,
} from '../model/receipt.ts';
import { noNotes, type RunNotes, sumOfNotes } from '../model/run-notes.ts';
import type { RunPosition } from '../model/run-position.ts';
import type { Scan } from '../model/scan.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { type IdKey, idKey } from './id-key.ts';
import { invalidRecord, quarantineEntry } from './quarantine-entry.ts';

/** A processed page with its place in the run. */
export interface ReadyPage extends PageOutcome {
  readonly pageNo: number;
  readonly requestKey: string;
  /** Where the run continues after it; null: it is complete. */
  readonly positionAfter: RunPosition | null;
  /** The progress of its partition once this page and all before are delivered; null: no statement about one. */
  readonly partition: PartitionEntry | null;
  /** What the run has proved of its partition by then, as far as it was read; null: nothing yet. */
  readonly proof: PartitionProof | null;
  /** See {@link Receipt.scan}. */
  readonly scan: Scan | null;
  /** Quarantine rows that it retried. */
  readonly retried: readonly string[];
  /** Something was omitted on purpose, so the run ends `partial`. */
  readonly incomplete: boolean;
  /** See {@link Batch.completesGeneration}. */
  readonly completesGeneration: boolean;
}

/** Pages that are delivered and recorded together. */
export interface PageBatch extends Batch {
  /** The receipt, given the rows that the destination rejected. Throws `record_invalid` as the resource says. */
  receiptOf(rejected: readonly RejectedRow[]): Receipt;
}

interface BatchOptions {
  readonly resource: Pick<Resource, 'key' | 'onInvalid'> & {
    readonly target: Pick<Resource['target'], 'mode' | 'onTypeConflict'>;
  };
  readonly runId: string;
  readonly batchNo: number;
  /** Masks secrets in stored parts of a record. */
  readonly redact: (text: string) => string;
}

/**
 * Combines pages. A record that comes twice is delivered once, in its last version; the earlier one counts as skipped,
 * because one statement cannot write a row twice and nobody would see it. A table that is only appended to gets every
 * version.
 */
export function assembleBatch(
  pages: readonly ReadyPage[],
  { resource, runId, batchNo, redact }: BatchOptions,
): PageBatch {
  const outcomes = pages.flatMap((page) => page.outcomes);
  const { effective, superseded, entriesRepeat } = compareVersions(outcomes, resource.target.mode === 'append');
  const rows: Deliverable[] = [];
  const tombstones: Tombstone[] = [];
  for (const outcome of effective) {
    if (outcome.kind === 'deliver') rows.push(outcome.row);
    else if (outcome.kind === 'delete') tombstones.push(outcome.tombstone);
  }
  const allNew = pages.every((page) => page.allNew);
  const makeReceipt = (rejected: readonly RejectedRow[]): Receipt => {
    const rejections =
      rejected.length === 0
        ? null
        : new Map(rejected.map((one) => [rows[one.index] ?? tombstones[one.index - rows.length], one]));
    const results = pages.map((page) =>
      pageResult(page, {
        superseded,
        rejections,
        resource,
        redact,
        each: page.each,
        isRetried: page.retried.length > 0,
      }),
    );
    const entries = results.flatMap((page) => page.entries);
    const again = results.flatMap((page) => page.again);
    const failure = results.find((page) => page.failure !== null)?.failure ?? null;
    const deleted = tombstones.filter((one) => !rejections?.has(one)).map(({ externalId }) => externalId);
    const kept = tombstones.length - deleted.length;
    return {
      runId,
      batchNo,
      pages: results.map(({ page }) => page),
      records: entriesRepeat ? latestEntries(entries, deleted) : entries,
      allNew,
      deleted,
      seen: pages.flatMap(({ seen, partition }) =>
        seen.length === 0 ? [] : [{ partition: partition?.partition ?? '', externalIds: seen }],
      ),
      quarantine: results.flatMap(({ quarantine }) => quarantine),
      ...(again.length > 0 && { again }),
      retried: pages.flatMap(({ retried }) => retried),
      partitions: failure === null ? latestOf(pages) : [],
      proofs: failure === null ? proofsOf(pages) : [],
      scan: pages.findLast(({ scan }) => scan)?.scan ?? null,
      incomplete: kept > 0 || pages.some(({ incomplete }) => incomplete),
      // A draft of an earlier version of the service has no notes.
      notes: sumOfNotes([
        ...pages.map(({ notes = noNotes }: Partial<ReadyPage>) => notes),
        rejected.length === 0 ? noNotes : notesOf(rejected, kept),
      ]),
      position: pages.at(-1)?.positionAfter ?? null,
      failure,
    };
  };
  let made: MadeReceipt | null = null;
  const make = (rejected: readonly RejectedRow[]): MadeReceipt => {
    if (made === null || !areSame(made.rejected, rejected))
      made = { rejected, receipt: makeReceipt(rejected), text: null };
    return made;
  };
  const receiptOf = (rejected: readonly RejectedRow[]): Receipt => make(rejected).receipt;
  const receipt = (rejected: readonly RejectedRow[]): string => {
    const known = make(rejected);
    known.text ??= encodeReceipt(known.receipt);
    return known.text;
  };
  const completesGeneration = pages.some((page) => page.completesGeneration);
  const draft = () => encodeDraft({ pages, resource, runId, batchNo });
  return { runId, batchNo, rows, allNew, tombstones, completesGeneration, receiptOf, receipt, draft };
}

/** The last receipt made. */
interface MadeReceipt {
  readonly rejected: readonly RejectedRow[];
  readonly receipt: Receipt;
  /** The receipt as text; null: it is not made yet. */
  text: string | null;
}

const areSame = (before: readonly RejectedRow[], now: readonly RejectedRow[]): boolean =>
  before === now || (before.length === 0 && now.length === 0);

/** What a reader of the run should know of rows that were not taken; `kept`: deletions that were refused. */
function notesOf(rejected: readonly RejectedRow[], kept: number): RunNotes {
  const missing = rejected.filter(({ isAwaited }) => isAwaited).length;
  return { ...(kept > 0 && { delete_refused: kept }), ...(missing > 0 && { row_missing: missing }) };
}

/** A batch from its draft, for its receipt: its rows hold no data. */
export function restoreBatch(draft: string, redact: BatchOptions['redact']): PageBatch {
  const { pages, ...options } = JSON.parse(draft) as Draft;
  return assembleBatch(pages, { ...options, redact });
}

type Draft = Omit<BatchOptions, 'redact'> & { readonly pages: readonly ReadyPage[] };

function encodeDraft({ pages, resource, runId, batchNo }: Draft): string {
  const { mode, onTypeConflict } = resource.target;
  const withoutData = (outcome: RecordOutcome): RecordOutcome =>
    outcome.kind === 'deliver' ? { ...outcome, row: { ...outcome.row, data: {} } } : outcome;
  const kept: Draft = {
    resource: { key: resource.key, onInvalid: resource.onInvalid, target: { mode, onTypeConflict } },
    runId,
    batchNo,
    pages: pages.map((page) => ({ ...page, outcomes: page.outcomes.map(withoutData) })),
  };
  return JSON.stringify(kept);
}

/** The outcomes that reach the destination: stored drafts and receipts rely on their order. */
interface Versions {
  /**
   * The last one of each record, at the place of its first; in mode append all but a tombstone that a version follows.
   * Some may be quarantined.
   */
  readonly effective: readonly RecordOutcome[];
  /** The others; null: there are none. */
  readonly superseded: ReadonlySet<RecordOutcome> | null;
  /** A record may have two entries, or one although it is deleted. */
  readonly entriesRepeat: boolean;
}

function compareVersions(outcomes: readonly RecordOutcome[], everyVersion: boolean): Versions {
  const last = new Map<IdKey, RecordOutcome>();
  const superseded = new Set<RecordOutcome>();
  for (const outcome of outcomes) {
    if (outcome.kind === 'quarantine' || outcome.kind === 'wait') continue;
    const { externalId } = outcome.kind === 'delete' ? outcome.tombstone : outcome.row;
    const key = idKey(externalId);
    const before = last.get(key);
    if (before && !(everyVersion && before.kind === 'deliver')) superseded.add(before);
    last.set(key, outcome);
  }
  const entriesRepeat = last.size < outcomes.length;
  if (superseded.size === 0) return { effective: outcomes, superseded: null, entriesRepeat };
  const effective = everyVersion ? outcomes.filter((outcome) => !superseded.has(outcome)) : [...last.values()];
  return { effective, superseded, entriesRepeat };
}

/** The last entry of each record; none for deleted records. */
function latestEntries(entries: readonly RecordEntry[], deleted: readonly string[]): readonly RecordEntry[] {
  const latest = new Map<string, RecordEntry>();
  for (const entry of entries) latest.set(entry.externalId, entry);
  for (const externalId of deleted) latest.delete(externalId);
  return [...latest.values()];
}

function latestOf(pages: readonly ReadyPage[]): readonly PartitionEntry[] {
  const latest = new Map<string, PartitionEntry>();
  for (const { partition } of pages) if (partition) latest.set(partition.partition, partition);
  return [...latest.values()];
}

/** Pages of an earlier version of the service prove nothing. */
function proofsOf(pages: readonly Partial<ReadyPage>[]): readonly PartitionProof[] {
  const proofs = new Map<string, PartitionProof>();
  for (const page of pages) {
    const { gaps = [], proof = null, partition } = page;
    const key = partition?.partition ?? '';
    const found = gaps.length > 0 ? { partition: key, proof: 'gap' as const, completed: null } : proof;
    if (found && proofs.get(found.partition)?.proof !== 'gap') proofs.set(found.partition, found);
  }
  return [...proofs.values()];
}

interface PageOptions {
  /** The outcomes that do not reach the destination; null: there are none. */
  readonly superseded: Versions['superseded'];
  /** The rejections by row and tombstone, since a record may have several; null: there are none. */
  readonly rejections: ReadonlyMap<Deliverable | Tombstone | undefined, RejectedRow> | null;
  readonly resource: BatchOptions['resource'];
  readonly redact: BatchOptions['redact'];
  readonly each: ReadyPage['each'];
  /** Whether its records are retried. */
  readonly isRetried: boolean;
}

interface PageResult {
  readonly page: PageEntry;
  readonly entries: readonly RecordEntry[];
  readonly quarantine: readonly QuarantineEntry[];
  /** See {@link Receipt.again}. */
  readonly again: readonly QuarantineEntry[];
  /** See {@link Receipt.failure}. */
  readonly failure: string | null;
}

function pageResult(page: ReadyPage, { superseded, rejections, ...options }: PageOptions): PageResult {
  const entries: RecordEntry[] = [];
  const quarantine: QuarantineEntry[] = [];
  const again: QuarantineEntry[] = [];
  let [recordsOut, deleted, flagged, failed, awaited] = [0, 0, 0, 0, 0];
  let failure: string | null = null;
  for (const outcome of page.outcomes) {
    if (outcome.kind === 'quarantine') {
      quarantine.push(outcome.row);
      if (outcome.entry) entries.push(outcome.entry);
      continue;
    }
    if (superseded?.has(outcome)) continue;
    if (outcome.kind === 'wait') {
      again.push(outcome.row);
      continue;
    }
    if (outcome.kind === 'delete') {
      const refusal = rejections?.get(outcome.tombstone);
      if (refusal) {
        const { entry, row } = keptDeletion(outcome, refusal, options);
        if (row) quarantine.push(row);
        if (entry) entries.push(entry);
        continue;
      }
      deleted += 1;
      if (outcome.flagged) flagged += 1;
      continue;
    }
    const rejection = rejections?.get(outcome.row);
    if (rejection && failsRun(rejection, options)) {
      failed += 1;
      failure ??= invalidRecord(options.resource.key, issuesOf(rejection), options.redact).message;
      continue;
    }
    if (!rejection) {
      recordsOut += 1;
      if (outcome.again) again.push(outcome.again);
    } else {
      quarantine.push(refusedEntry(outcome, rejection, options));
      if (rejection.isAwaited) awaited += 1;
    }
    if (outcome.entry) entries.push(rejection ? { ...outcome.entry, status: 'quarantined' } : outcome.entry);
  }
  const { pageNo, requestKey, carried, invalid } = page;
  const recordsIn = page.recordsIn - failed;
  // One that is awaited is no fault of the run: it is noted, and counts as skipped.
  const quarantined = quarantine.length - awaited;
  const skipped = recordsIn - carried - recordsOut - quarantined - flagged;
  const numbers = { recordsIn, recordsOut, quarantined, deleted, skipped, invalid };
  return { page: { pageNo, requestKey, ...numbers }, entries, quarantine, again, failure };
}

/** A retried record is quarantined again: it would otherwise fail every run from now on. */
const failsRun = ({ isNamed }: RejectedRow, { resource, isRetried }: Pick<PageOptions, 'resource' | 'isRetried'>) =>
  isNamed === true && resource.onInvalid !== 'quarantine' && !isRetried;

/**
 * What is kept of a record whose deletion was refused: it stays as it is known, and whatever finds it deleted again deletes
 * it. A cursor has passed one that was flagged, so the next run tries that again.
 */
function keptDeletion(
  { tombstone: { externalId }, record }: Extract<RecordOutcome, { readonly kind: 'delete' }>,
  refusal: RejectedRow,
  { redact, each }: Pick<PageOptions, 'redact' | 'each'>,
): { readonly row: QuarantineEntry | null; readonly entry: RecordEntry | null } {
  if (!record) return { row: null, entry: null };
  const row = quarantineEntry({ externalId, raw: record.raw, each }, issuesOf(refusal), redact);
  return { row: { ...row, isAwaited: true }, entry: record.entry && { ...record.entry, status: 'quarantined' } };
}

const issuesOf = ({ message }: RejectedRow) => [{ path: '', message, keyword: 'destination' }];

/**
 * A record whose values do not fit the table is quarantined, unless the target says that the run fails. A retried
 * record is quarantined again: it would otherwise fail every run from now on.
 */
function refusedEntry(
  { row, raw }: Extract<RecordOutcome, { readonly kind: 'deliver' }>,
  rejection: RejectedRow,
  { resource, redact, each, isRetried }: Pick<PageOptions, 'resource' | 'redact' | 'each' | 'isRetried'>,
): QuarantineEntry {
  const issues = issuesOf(rejection);
  const { isAwaited } = rejection;
  if (resource.target.onTypeConflict === 'fail' && !isRetried && !isAwaited)
    throw invalidRecord(resource.key, issues, redact);
  return {
    ...quarantineEntry({ externalId: row.externalId, raw, each }, issues, redact),
    ...(isAwaited && { isAwaited }),
  };
}
