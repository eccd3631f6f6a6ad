/** One page through the stages: gate, key, filter, change filter, transform, validate. A bad record costs itself. */
import { AppError } from '../errors.ts';
import type { Evaluator } from '../expressions/evaluator-pool.ts';
import { newId } from '../ids.ts';
import { compareCursors, cursorOfText, cursorText, parseCursor } from '../source/cursor-value.ts';
import { valueAt } from '../source/dotted-path.ts';
import { externalIdOf, keylessExternalId } from '../source/external-id.ts';
import type { Resource } from '../spec/schema.ts';
import { canonicalJson } from './canonical-json.ts';
import { createFingerprint } from './fingerprint.ts';
import type { KnownRecord, KnownRecords } from './known-records.ts';
import type { Outcome, PageOutcome } from './page-outcome.ts';
import type { QuarantineEntry, RecordEntry } from './receipt.ts';
import { findDefect } from './record-gate.ts';
import { resourceFingerprint } from './resource-fingerprint.ts';
import { storableJson } from './storable-json.ts';
import { compileValidator, type RecordIssue } from './validate.ts';

/** What the stages of one run share. */
export interface PipelineOptions {
  readonly resource: Resource;
  readonly params: Readonly<Record<string, unknown>>;
  readonly runId: string;
  /** `$now()` of the run's expressions: a page processed again gives the same rows. */
  readonly startedAt: Date;
  readonly known: KnownRecords;
  readonly evaluator: Evaluator;
  /** Masks secrets: an API may echo a credential into a record, and a quarantined record is kept and shown. */
  readonly redact: (text: string) => string;
}

/** The stages of one run, in two steps because only the first depends on the pages before. */
export interface Pipeline {
  /** Gate, key, filter, change filter. Pages come in their order, one after the other. */
  select(records: readonly unknown[]): Promise<Selection>;
  /**
   * Transform and validate; several pages at once keep every evaluator busy. Throws `record_invalid` when a record is
   * invalid and the resource says `onInvalid: fail`.
   */
  shape(selection: Selection): Promise<PageOutcome>;
}

/** What of a page is new or changed. */
export interface Selection {
  readonly recordsIn: number;
  readonly candidates: readonly Candidate[];
}

/** The pipeline of a run. */
export function createPipeline(options: PipelineOptions): Pipeline {
  const stages = createStages(options);
  return {
    async select(records) {
      const judged = records.map((record) => stages.identify(record));
      const wanted = await stages.dropFiltered(judged);
      return { recordsIn: records.length, candidates: await stages.dropUnchanged(wanted) };
    },
    async shape({ recordsIn, candidates }) {
      const shaped = await stages.shape(candidates);
      const outcomes = shaped.flatMap((record) => stages.conclude(record));
      return { recordsIn, skipped: recordsIn - outcomes.length, outcomes };
    },
  };
}

/** A record between two stages; once it has issues, the later stages leave it alone. */
interface Candidate {
  readonly raw: unknown;
  readonly externalId: string;
  /** Null where changes are not detected. */
  readonly hash: string | null;
  readonly cursor: string | null;
  readonly issues: readonly RecordIssue[] | null;
  readonly data: Readonly<Record<string, unknown>> | null;
}

function createStages({ resource, params, runId, startedAt, known, evaluator, redact }: PipelineOptions) {
  const { changeDetection, primaryKey, onInvalid } = resource;
  const bindings = { params, run: { id: runId, startedAt: startedAt.toISOString() }, lookups: {}, each: {} };
  const fingerprint = createFingerprint({ ignore: changeDetection.ignore, salt: resourceFingerprint(resource) });
  const validate = resource.validate ? compileValidator(resource.validate.schema) : null;
  const hashOf = (record: unknown) => (changeDetection.mode === 'none' ? null : fingerprint(record));
  const cursorOf = createCursorReader(resource);
  const withColumns = createColumnReader(resource);

  const evaluate = (expression: string, records: readonly unknown[]) =>
    evaluator.transform({ expression, records, bindings, now: startedAt, nulls: resource.transformNulls });

  return {
    identify(raw: unknown): Candidate {
      const defect = findDefect(raw);
      const sound: unknown = defect === null ? raw : JSON.parse(storableJson(raw));
      const id = externalIdOf(sound, primaryKey);
      const externalId = id.ok ? id.externalId : keylessExternalId(canonicalJson(sound));
      const issues = [
        ...(defect === null ? [] : [{ path: '', message: defect, keyword: 'record' }]),
        ...(id.ok ? [] : [{ path: id.path, message: id.message, keyword: 'primaryKey' }]),
      ];
      const cursor = defect === null ? cursorOf(raw) : null;
      return { raw, externalId, hash: hashOf(sound), cursor, issues: issues.length > 0 ? issues : null, data: null };
    },

    async dropFiltered(candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
      const { filter } = resource;
      if (filter === undefined) return candidates;
      const sound = candidates.filter((candidate) => candidate.issues === null);
      // Wrapped, because the evaluator gives objects: a filter that selects nothing leaves `keep` out.
      const results = await evaluate(
        `{ "keep": $boolean((${filter}\n)) }`,
        sound.map((candidate) => candidate.raw),
      );
      const verdicts = new Map(sound.map((candidate, index) => [candidate, results[index]]));
      return candidates.flatMap((candidate) => {
        const verdict = verdicts.get(candidate);
        if (!verdict) return [candidate];
        if (!verdict.ok) return [{ ...candidate, issues: [issueOf('filter', verdict.failure.message)] }];
        return verdict.value['keep'] === true ? [candidate] : [];
      });
    },

    async dropUnchanged(candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
      if (changeDetection.mode === 'none') return candidates;
      const stored = new Map(await known.find(candidates.map((candidate) => candidate.externalId)));
      return candidates.filter(({ externalId, hash, cursor }) => {
        const before = stored.get(externalId);
        if (hash === null || before?.hash === hash) return false;
        if (before && changeDetection.versionGuard && isStale(cursor, before)) return false;
        stored.set(externalId, { hash, cursor });
        known.expect(externalId, { hash, cursor });
        return true;
      });
    },

    async shape(candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
      const { transform } = resource;
      const sound = candidates.filter((candidate) => candidate.issues === null);
      const results =
        transform === undefined
          ? null
          : await evaluate(
              transform,
              sound.map((candidate) => candidate.raw),
            );
      let next = 0;
      return candidates.map((candidate) => {
        if (candidate.issues) return candidate;
        const result = results?.[next++];
        if (result && !result.ok) return { ...candidate, issues: [issueOf('transform', result.failure.message)] };
        const shaped = result ? result.value : objectOf(candidate.raw);
        if (!shaped) return { ...candidate, issues: [issueOf('record', 'is not an object')] };
        return { ...candidate, data: withColumns(shaped), issues: validate?.(shaped) ?? null };
      });
    },

    conclude({ raw, externalId, hash, cursor, issues, data }: Candidate): Outcome[] {
      const entry = (status: RecordEntry['status']) => (hash === null ? null : { externalId, hash, cursor, status });
      if (!issues && data) return [{ kind: 'deliver', row: { externalId, data }, entry: entry('delivered'), raw }];
      const found = issues ?? [];
      if (onInvalid === 'fail') throw invalidRecord(resource.key, found, redact);
      if (onInvalid === 'skip') {
        known.forget(externalId);
        return [];
      }
      return [
        { kind: 'quarantine', row: quarantineEntry({ externalId, raw }, found, redact), entry: entry('quarantined') },
      ];
    },
  };

  function isStale(cursor: string | null, before: KnownRecord): boolean {
    const { incremental } = resource;
    if (incremental?.kind !== 'cursor') return false;
    const now = cursorOfText(cursor, incremental.cursor);
    const then = cursorOfText(before.cursor, incremental.cursor);
    return now !== null && then !== null && compareCursors(now, then) < 0;
  }
}

/** The row that keeps a record which was not delivered, without the secrets that its API may have echoed into it. */
export const quarantineEntry = (
  { externalId, raw }: { readonly externalId: string; readonly raw: unknown },
  errors: readonly RecordIssue[],
  redact: PipelineOptions['redact'],
): QuarantineEntry => ({
  id: newId('quar'),
  externalId,
  rawJson: redact(storableJson(raw)),
  errors: errors.map((error) => ({ ...error, message: redact(error.message) })),
});

/** The failure of a run whose resource does not put up with an invalid record. It never carries a value. */
export function invalidRecord(
  resourceKey: string,
  issues: readonly RecordIssue[],
  redact: PipelineOptions['redact'],
): AppError {
  const [first] = issues;
  const where = first?.path ? ` at "${first.path}"` : '';
  return new AppError(
    'record_invalid',
    `A record of ${resourceKey} is invalid${where}: ${redact(first?.message ?? 'no detail')}. ` +
      'Correct the spec, or set onInvalid to "quarantine" to keep such records aside and go on',
  );
}

function createCursorReader({ incremental }: Resource): (record: unknown) => string | null {
  if (incremental?.kind !== 'cursor' || incremental.cursor.field === undefined) return () => null;
  const { cursor } = incremental;
  const field = incremental.cursor.field;
  return (record) => {
    const value = parseCursor(valueAt(record, field), cursor);
    return value === null ? null : cursorText(value, cursor);
  };
}

/** Adds the columns whose value lies elsewhere in the record (`target.columns.*.path`). */
function createColumnReader({ target }: Resource): (data: Candidate['data'] & object) => Candidate['data'] {
  const paths = Object.entries(target.columns).flatMap(([column, { path }]) =>
    path === undefined ? [] : [[column, path] as const],
  );
  if (paths.length === 0) return (data) => data;
  return (data) => ({ ...data, ...Object.fromEntries(paths.map(([column, path]) => [column, valueAt(data, path)])) });
}

const issueOf = (keyword: string, message: string): RecordIssue => ({ path: '', message, keyword });

const objectOf = (value: unknown): Readonly<Record<string, unknown>> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
