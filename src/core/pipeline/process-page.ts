/** Processes a page: gate, key, deletes, filter, change filter, enrich, transform, validate. Failures are isolated per record. */

import type { Evaluator } from '../expressions/evaluation.ts';
import type { JsonObject } from '../json/json-object.ts';
import { issueOf } from '../json-schema/validate.ts';
import type { Tombstone } from '../model/batch.ts';
import type { Enrich } from '../model/candidate.ts';
import { type Candidate, idOf } from '../model/candidate.ts';
import type { Gaps } from '../model/coverage.ts';
import type { PageOutcome, RecordOutcome } from '../model/page-outcome.ts';
import type { CursorShape } from '../model/read-position.ts';
import type { RecordEntry } from '../model/receipt.ts';
import type { RecordPage, Retry } from '../model/record-page.ts';
import { noNotes, type RunNote, type RunNotes } from '../model/run-notes.ts';
import { cursorOfText, isOlder } from '../source/cursor/cursor-value.ts';
import { concludesAbsence } from '../spec/connection/concludes-absence.ts';
import { deletesAtEnd, leavesPartitions } from '../spec/connection/deletes-at-end.ts';
import { fetchesAll } from '../spec/connection/reads-all.ts';
import type { StoredFields } from '../spec/connection/stored-fields.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { mapWithPauses } from '../work/map-with-pauses.ts';
import { createIdentify } from './candidate.ts';
import { createChangeFilter } from './change-filter.ts';
import { createDeleteFlag } from './delete-flag.ts';
import type { KnownRecords } from './known-records.ts';
import { invalidRecord, type Masking, quarantineEntry, versionOf } from './quarantine-entry.ts';
import { createRecordFilter } from './record-filter.ts';
import { createShape, type EvaluateRecords } from './shape.ts';
import { createFieldPicker } from './stored-fields.ts';

/** Dependencies and settings of the stages of one run. */
export interface PipelineOptions extends Masking {
  readonly resource: Resource;
  readonly params: JsonObject;
  readonly lookups: JsonObject;
  readonly runId: string;
  /** `$now()` of the run's expressions, so that a page processed again gives the same rows. */
  readonly startedAt: Date;
  readonly known: KnownRecords;
  /** The fields of each record stored for child resources. */
  readonly storedFields: StoredFields | null;
  readonly enrich: Enrich | null;
  readonly redeliver: boolean;
  readonly evaluator: Evaluator;
  /** Digest of the params and tables that shape the records. */
  readonly shapeValues?: string;
  /** Digest of a partition's values that shape its records. */
  readonly shapeEach?: (each: JsonObject) => string;
  readonly recordBytesMax?: number;
}

/** The stages of one run, in two steps: only the first depends on the pages before. */
export interface Pipeline {
  /**
   * Gate, key, deletes, filter, change filter. Call it in page order, without waiting for the page before; it rejects
   * if an earlier page does.
   */
  select(page: RecordPage): Promise<Selection>;
  /**
   * Enrich, transform and validate, for several pages at once to keep every evaluator busy. Throws `record_invalid` for
   * an invalid fetched record if `onInvalid` is `fail`; a retried record is quarantined again.
   */
  shape(selection: Selection): Promise<PageOutcome>;
}

interface Selection {
  readonly recordsIn: number;
  readonly candidates: readonly Candidate[];
  readonly allNew: boolean;
  readonly carried: number;
  readonly each: JsonObject;
  readonly origin: RecordPage['origin'];
  readonly seen: readonly string[];
  readonly gaps: Gaps;
  readonly notes: RunNotes;
}

/** The pipeline of a run. */
export function createPipeline(options: PipelineOptions): Pipeline {
  const { resource, known, enrich, redeliver, shapeEach = () => '' } = options;
  const evaluate = createEvaluateRecords(options);
  const identify = createIdentify(resource, options.storedFields, options.lookups, options);
  const markFiltered = createRecordFilter(resource, evaluate);
  const flagDeleted = createDeleteFlag(resource.deletes, evaluate);
  const dropUnchanged = createChangeFilter(resource, { known, redeliver });
  const shape = createShape(resource, evaluate);
  const conclude = createConclude(options);
  const scans = resource.deletes.mode === 'full_scan';
  const notesSeen = scans || resource.deletes.mode === 'endpoint';
  // A list of changes may have an older form that the filter keeps beside the newest, which has left it.
  const { incremental } = resource;
  const dated = leavesPartitions(resource) && incremental?.kind === 'cursor' ? incremental : null;
  const everyVersion = resource.target.mode === 'append';
  const concludes = concludesAbsence(resource);
  const isParent = options.storedFields !== null;
  const select = async (
    { records, each, origin, retries, isCompared }: RecordPage,
    before: Promise<unknown>,
  ): Promise<Selection> => {
    const identified = await mapWithPauses(records, identify, shapeEach(each));
    const all = retries ? identified.map((candidate, index) => withRetry(candidate, retries[index])) : identified;
    const marked = await markFiltered(await flagDeleted(all, each), each);
    const newest = dated && newestForms(marked, dated);
    const current = newest && !everyVersion ? marked.filter((form) => isCurrent(form, newest.get(idOf(form)))) : marked;
    const { candidates, allNew, carried, stale, left } = await dropUnchanged(current, { origin, before });
    const keyless = origin === 'fetched' ? marked.filter(isKeylessEntry).length : 0;
    const isGap = concludes || isCompared === true;
    return {
      recordsIn: records.length,
      candidates,
      allNew,
      carried,
      each,
      origin,
      seen:
        (notesSeen || isCompared === true) && origin === 'fetched'
          ? allKept(newest ? [...newest.values()] : marked)
          : [],
      gaps: isGap && keyless > 0 ? ['key_missing'] : [],
      notes: counted({
        stale,
        left_filter: resource.deletes.mode === 'none' ? left : 0,
        key_missing: isParent && !isGap ? keyless : 0,
      }),
    };
  };
  let before: Promise<unknown> = Promise.resolve();
  return {
    select(page) {
      const selection = select(page, before);
      before = selection;
      return selection;
    },
    async shape({ recordsIn, candidates, allNew, carried, each, origin, seen, gaps, notes }) {
      const enriched = enrich ? await enrich(candidates, { each }) : candidates;
      const shaped = await shape(enriched, each);
      const invalid = origin === 'retried' ? 0 : shaped.filter(isInvalid).length;
      const outcomes = (await mapWithPauses(shaped, conclude, { each, origin })).filter(isOutcome);
      const skipped = recordsIn - outcomes.length - carried;
      const degraded = shaped.filter(wasDegraded).length;
      const allNotes = degraded === 0 ? notes : { ...notes, degraded };
      return { recordsIn, skipped, carried, invalid, outcomes, allNew, each, seen, gaps, notes: allNotes };
    },
  };
}

function counted(counts: Readonly<Partial<Record<RunNote, number>>>): RunNotes {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.length === 0 ? noNotes : Object.fromEntries(some);
}

function withRetry(candidate: Candidate, retry: Retry | undefined): Candidate {
  if (!retry) return candidate;
  if (retry.lostId === undefined) return { ...candidate, retry };
  return { ...candidate, retry, externalId: retry.lostId, cursor: null, issues: [lostRecord] };
}

/** Why a record stays in quarantine without another try. */
const lostRecord = issueOf(
  'sealed',
  'is stored with secrets masked, and nothing opens its original: SECRETS_KEYS lacks the key, or an earlier version kept none. ' +
    'A backfill with force reads and delivers the record again',
);

// At module level, for the reason given in mapWithPauses.
const rawOf = ({ raw }: Candidate): unknown => raw;
const lookupsOf = ({ lookups }: Candidate): Candidate['lookups'] => lookups;
const isKept = ({ isFiltered }: Candidate): boolean => !isFiltered;
const allKept = (candidates: readonly Candidate[]): readonly string[] => candidates.filter(isKept).map(idOf);
const isCurrent = (form: Candidate, newest = form): boolean => newest === form || !newest.isFiltered;

/** The newest form of each record on a page, by its cursor, otherwise by its place in the list. */
function newestForms(candidates: readonly Candidate[], { cursor, order }: Dated): ReadonlyMap<string, Candidate> {
  const newest = new Map<string, Candidate>();
  for (const candidate of candidates) {
    const known = cursorOfText(newest.get(idOf(candidate))?.cursor ?? null, cursor);
    const now = cursorOfText(candidate.cursor, cursor);
    const isUnknown = known === null || now === null;
    if (isUnknown || (order === 'desc' ? isOlder(known, now, cursor) : !isOlder(now, known, cursor)))
      newest.set(idOf(candidate), candidate);
  }
  return newest;
}

interface Dated {
  readonly cursor: CursorShape;
  readonly order: 'asc' | 'desc' | 'none';
}

const isPlain = (candidate: Candidate): boolean => candidate.isPlain;
const hasLookups = ({ lookups }: Candidate): boolean => lookups !== null;
const isInvalid = ({ issues, isDeleted }: Candidate): boolean => issues !== null && !isDeleted;
const wasDegraded = (candidate: Candidate): boolean => candidate.isDegraded && candidate.issues === null;
const isKeyless = ({ issues }: Candidate): boolean => issues?.some(({ keyword }) => keyword === 'primaryKey') ?? false;
const isKeylessEntry = (candidate: Candidate): boolean => isKept(candidate) && isKeyless(candidate);
const isOutcome = (outcome: RecordOutcome | null): outcome is RecordOutcome => outcome !== null;

function createEvaluateRecords(options: PipelineOptions): EvaluateRecords {
  const { resource, params, lookups, runId, startedAt, evaluator } = options;
  const run = { id: runId, startedAt: startedAt.toISOString() };
  return (expression, candidates, each) =>
    evaluator.transform({
      expression,
      records: candidates.map(rawOf),
      arePlain: candidates.every(isPlain),
      bindings: { params, run, lookups, each },
      recordLookups: candidates.some(hasLookups) ? candidates.map(lookupsOf) : null,
      now: startedAt,
      nulls: resource.transformNulls,
    });
}

/** Why a delivered record is tried again. */
const stepFailed = issueOf('enrich', 'a request of an enrichment failed, so its result is null for now');

/** Returns `null` for a record that counts as skipped. */
function createConclude({
  resource,
  known,
  storedFields,
  redact,
  seal,
}: PipelineOptions): (candidate: Candidate, page: Pick<RecordPage, 'each' | 'origin'>) => RecordOutcome | null {
  const fieldsOf = createFieldPicker(storedFields);
  const effect = resource.deletes.mode === 'none' ? 'soft' : resource.deletes.effect;
  const everyVersion = resource.target.mode === 'append';
  const waits = deletesAtEnd(resource);
  const leaves = waits && leavesPartitions(resource);
  const fetchesAgain = fetchesAll(resource);
  // A deleted record that comes back is no longer known as deleted, although no version is compared.
  const uncompared = resource.deletes.mode === 'none' ? null : '';
  return (candidate, { each, origin }) => {
    const { raw, externalId, hash, cursor, issues, data, quarantine, isDegraded, retry, before } = candidate;
    const { isDeleted, isFiltered } = candidate;
    const kept = { externalId, raw, each, retry, everyVersion };
    // A record without a key cannot be a parent.
    const fields = isKeyless(candidate) ? null : fieldsOf(raw);
    const isDelivered = !issues && data;
    const status = isDelivered ? 'delivered' : 'quarantined';
    // The known state is the last version; an older one that is retried does not replace it.
    const stateHash = retry === undefined || retry.isLast ? (hash ?? uncompared) : null;
    const entry: RecordEntry | null =
      stateHash === null ? null : { externalId, hash: stateHash, cursor, status, fields };
    // An old version that was kept back proves nothing about a later one.
    if (isDeleted && waits && retry?.isLast === false) return null;
    if (isFiltered && leaves) return origin === 'retried' ? null : { kind: 'leave', externalId };
    if (isDeleted && waits) {
      const flag = { kind: 'flag', record: { externalId, cursor } } as const;
      if (before !== 'unknown') return { ...flag, isUndelivered: before === 'undelivered' };
      return { ...flag, isUndelivered: true, entry: { externalId, hash: '', cursor, status: 'quarantined', fields } };
    }
    if (isDeleted) {
      const tombstone: Tombstone = { externalId, effect, ...(before === 'undelivered' && { isUndelivered: true }) };
      return { kind: 'delete', tombstone, flagged: true, record: { raw, entry, ...(retry && { retry }) } };
    }
    if (isDelivered) {
      const usual = { kind: 'deliver', row: { externalId, hash, data }, entry, raw } as const;
      const closes = everyVersion && (retry !== undefined || before !== undefined || hash === null);
      const version = closes ? (retry?.version ?? versionOf(raw, redact)) : undefined;
      const whole = retry || closes ? { ...usual, ...(retry && { retry }), ...(closes && { version }) } : usual;
      if (!isDegraded) return whole;
      // An empty fingerprint matches no version, so the record is delivered again whenever it is fetched.
      const degraded = { ...whole, entry: entry && { ...entry, hash: '' } };
      if (fetchesAgain) return degraded;
      const again = quarantineEntry(kept, [stepFailed], { redact, seal });
      if (origin === 'fetched') return { ...degraded, again };
      known.forget(externalId, hash);
      return { kind: 'wait', row: again };
    }
    const found = issues ?? [];
    const onInvalid = quarantine || origin === 'retried' ? 'quarantine' : resource.onInvalid;
    if (onInvalid === 'fail') throw invalidRecord(resource, found, redact);
    if (onInvalid === 'skip') {
      known.forget(externalId, hash);
      return null;
    }
    const row = quarantineEntry(kept, found, { redact, seal });
    if (retry?.lostId === undefined) return { kind: 'quarantine', row, entry };
    known.forget(externalId, hash);
    return { kind: 'quarantine', row, entry: null };
  };
}
