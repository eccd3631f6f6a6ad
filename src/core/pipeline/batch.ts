import { storableJson } from '../json/storable-json.ts';
import type { Batch, Deliverable, RejectedRow, Tombstone } from '../model/batch.ts';
import type { PageOutcome, RecordOutcome } from '../model/page-outcome.ts';
import {
  encodeReceipt,
  type ListedDeletions,
  type ListedEnd,
  type PartitionEntry,
  type PartitionProof,
  type PlacedRecords,
  type Receipt,
  unversioned,
} from '../model/receipt.ts';
import { noNotes, type RunNotes, sumOfNotes } from '../model/run-notes.ts';
import type { RunPosition } from '../model/run-position.ts';
import type { Scan } from '../model/scan.ts';
import { mapWithPauses } from '../work/map-with-pauses.ts';
import { compareVersions, type EndsInReceipt, lastEnds } from './batch-versions.ts';
import { type PageResult, pageResult, type RefusingResource } from './page-result.ts';
import { type Masking, maskedRecord } from './quarantine-entry.ts';

/** A processed page with its place in the run. See `RunPage` for its fields. */
export interface ReadyPage extends PageOutcome {
  readonly pageNo: number;
  readonly requestKey: string;
  readonly positionAfter: RunPosition | null;
  readonly partition: PartitionEntry | null;
  readonly proof: PartitionProof | null;
  readonly scan: Scan | null;
  readonly isCompared?: true;
  readonly listed?: ListedDeletions | null;
  readonly listedEnd?: ListedEnd | null;
  readonly retried: readonly string[];
  readonly incomplete: boolean;
  readonly completesGeneration: boolean;
}

/** Pages that are delivered and recorded together. */
export interface PageBatch extends Batch {
  /** The receipt, given the rejected rows; throws `record_invalid` as the resource says. */
  receiptOf(rejected: readonly RejectedRow[]): Receipt;
}

interface BatchOptions extends Masking {
  readonly resource: RefusingResource;
  readonly runId: string;
  readonly batchNo: number;
}

/**
 * Combines pages. A record that comes twice is delivered in its last version, since one statement cannot write a row
 * twice. The earlier version counts as skipped; in mode append, every version is delivered.
 */
export function assembleBatch(
  pages: readonly ReadyPage[],
  { resource, runId, batchNo, redact, seal }: BatchOptions,
): PageBatch {
  const outcomes = pages.flatMap((page) => page.outcomes);
  const everyVersion = resource.target.mode === 'append';
  const { effective, superseded, mayRepeat, isOvertaken } = compareVersions(outcomes, everyVersion);
  const rows: Deliverable[] = [];
  const tombstones: Tombstone[] = [];
  for (const outcome of effective) {
    if (outcome.kind === 'deliver') rows.push(outcome.row);
    else if (outcome.kind === 'delete' && !outcome.tombstone.isUndelivered) tombstones.push(outcome.tombstone);
  }
  const allNew = pages.every((page) => page.allNew);
  // The rows that a usual batch closes follow from its records: they were fetched, and have fingerprints.
  const isUsual = pages.every(({ retried }) => retried.length === 0) && outcomes.every(isOrdinary);
  const lists = { everyVersion, deriveCloses: isUsual && !everyVersion };
  const isSimple = isUsual && !mayRepeat;
  const makeReceipt = (rejected: readonly RejectedRow[]): Receipt => {
    const rejections =
      rejected.length === 0
        ? null
        : new Map(rejected.map((one) => [rows[one.index] ?? tombstones[one.index - rows.length], one]));
    const results = pages.map((page) =>
      pageResult(page, {
        superseded,
        isOvertaken,
        rejections,
        resource,
        redact,
        seal,
        each: page.each,
        isRetried: page.retried.length > 0,
        isSimple,
        everyVersion,
      }),
    );
    const again = results.flatMap((page) => page.again);
    const failure = results.find((page) => page.failure !== null)?.failure ?? null;
    const listed = pages.flatMap((page) => page.listed ?? []);
    const left = leftOn(pages);
    const listedEnd = pages.findLast((page) => page.listedEnd)?.listedEnd;
    const kept = rejections === null ? 0 : tombstones.filter((one) => rejections.has(one)).length;
    const doubtful = rejected.flatMap(({ isDoubtful, externalId }) => (isDoubtful ? [externalId] : []));
    const ends: EndsInReceipt = isSimple
      ? {
          records: results.flatMap(({ entries }) => entries),
          deleted: results.flatMap(({ gone }) => gone),
          ...flaggedIn(results),
          deliveredBefore: [],
          closes: everyVersion ? [] : null,
          closesVersions: [],
        }
      : lastEnds(
          results.flatMap((result) => result.ends),
          lists,
        );
    return {
      runId,
      batchNo,
      pages: results.map(({ page }) => page),
      ...ends,
      deliveredBefore: doubtful.length === 0 ? ends.deliveredBefore : [...ends.deliveredBefore, ...doubtful],
      allNew,
      seen: pages.flatMap(({ seen, partition, isCompared }) =>
        seen.length === 0 ? [] : [{ partition: isCompared ? '' : (partition?.partition ?? ''), externalIds: seen }],
      ),
      ...(left.length > 0 && { left }),
      quarantine: results.flatMap(({ quarantine }) => quarantine),
      ...(again.length > 0 && { again }),
      retried: pages.flatMap(({ retried }) => retried),
      partitions: failure === null ? latestOf(pages) : [],
      proofs: failure === null ? proofsOf(pages) : [],
      scan: pages.findLast(({ scan }) => scan)?.scan ?? null,
      ...(listed.length > 0 && { listed }),
      ...(listedEnd && { listedEnd }),
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
  const draft = () => encodeDraft({ pages, resource, runId, batchNo }, { redact, seal });
  return { runId, batchNo, rows, allNew, tombstones, completesGeneration, receiptOf, receipt, draft };
}

/** Records that leave their partition, as of the last page that has each. */
function leftOn(pages: readonly ReadyPage[]): readonly PlacedRecords[] {
  const left = new Map<string, Set<string>>();
  for (const { outcomes, partition, seen } of pages) {
    if (!partition) continue;
    const leaving = outcomes.flatMap((outcome) => (outcome.kind === 'leave' ? [outcome.externalId] : []));
    const here = left.get(partition.partition) ?? new Set<string>();
    if (leaving.length === 0 && here.size === 0) continue;
    for (const externalId of leaving) here.add(externalId);
    for (const externalId of seen) here.delete(externalId);
    left.set(partition.partition, here);
  }
  return [...left].flatMap(([partition, ids]) => (ids.size === 0 ? [] : [{ partition, externalIds: [...ids] }]));
}

function flaggedIn(results: readonly PageResult[]): Pick<Receipt, 'flagged'> {
  const flagged = results.flatMap((result) => result.flagged);
  return flagged.length > 0 ? { flagged } : {};
}

const isOrdinary = (outcome: RecordOutcome): boolean =>
  outcome.kind === 'delete' ||
  outcome.kind === 'flag' ||
  outcome.kind === 'leave' ||
  outcome.kind === 'wait' ||
  (outcome.entry !== null && (outcome.kind === 'quarantine' || outcome.version === undefined));

interface MadeReceipt {
  readonly rejected: readonly RejectedRow[];
  readonly receipt: Receipt;
  text: string | null;
}

const areSame = (before: readonly RejectedRow[], now: readonly RejectedRow[]): boolean =>
  before === now || (before.length === 0 && now.length === 0);

function notesOf(rejected: readonly RejectedRow[], kept: number): RunNotes {
  const missing = rejected.filter(({ isAwaited }) => isAwaited).length;
  return { ...(kept > 0 && { delete_refused: kept }), ...(missing > 0 && { row_missing: missing }) };
}

/** Restores a batch from its draft, to make its receipt; its rows hold no data. */
export function restoreBatch(draft: string, masking: Masking): PageBatch {
  const { pages, ...options } = JSON.parse(draft) as Draft;
  const complete = pages.map((page) => ({ ...page, outcomes: page.outcomes.map(withVersion) }));
  return assembleBatch(complete, { ...options, ...masking });
}

/** A draft of an earlier version of the service names no versions. */
const withVersion = (outcome: RecordOutcome): RecordOutcome =>
  outcome.kind === 'quarantine' ? { ...outcome, row: { ...unversioned, ...outcome.row } } : outcome;

type Draft = Omit<BatchOptions, keyof Masking> & { readonly pages: readonly ReadyPage[] };

/** The input of a later receipt: rows without data, and records as quarantine would keep them. */
async function encodeDraft({ pages, resource, runId, batchNo }: Draft, masking: Masking): Promise<string> {
  const { mode, onTypeConflict } = resource.target;
  const kept: Draft = {
    resource: { key: resource.key, onInvalid: resource.onInvalid, target: { mode, onTypeConflict } },
    runId,
    batchNo,
    pages: pages.map(({ each, ...page }) => {
      const isRetried = page.retried.length > 0;
      const outcomes = page.outcomes.map(withoutData);
      return { ...page, each: isRetried ? {} : each, outcomes: isRetried ? outcomes.map(withoutRaw) : outcomes };
    }),
  };
  const draft = JSON.stringify(kept);
  // Nearly no record repeats a secret, and checking each text takes long.
  if (masking.redact(draft) === draft) return draft;
  const masked: ReadyPage[] = [];
  for (const page of kept.pages) {
    const { each } = page;
    const outcomes = await mapWithPauses(page.outcomes, withMaskedRecord, { each, masking });
    masked.push({ ...page, each: JSON.parse(storableJson(each, masking.redact)), outcomes });
  }
  return JSON.stringify({ ...kept, pages: masked } satisfies Draft);
}

const withoutData = (outcome: RecordOutcome): RecordOutcome =>
  outcome.kind === 'deliver' ? { ...outcome, row: { ...outcome.row, data: {} } } : outcome;

/** The row of a retried record has it. */
function withoutRaw(outcome: RecordOutcome): RecordOutcome {
  if (outcome.kind === 'deliver') return { ...outcome, raw: null };
  if (outcome.kind !== 'delete' || !outcome.record) return outcome;
  return { ...outcome, record: { ...outcome.record, raw: null } };
}

function withMaskedRecord(
  outcome: RecordOutcome,
  { each, masking }: { readonly each: ReadyPage['each']; readonly masking: Masking },
): RecordOutcome {
  const masked = (raw: unknown) => {
    const { rawJson, sealed } = maskedRecord({ raw, each }, masking);
    return { raw: JSON.parse(rawJson), ...(sealed !== undefined && { sealed }) };
  };
  if (outcome.kind === 'deliver') return { ...outcome, ...masked(outcome.raw) };
  if (outcome.kind !== 'delete' || !outcome.record) return outcome;
  return { ...outcome, record: { ...outcome.record, ...masked(outcome.record.raw) } };
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
