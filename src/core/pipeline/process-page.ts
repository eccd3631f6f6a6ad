/** One page through the stages: gate, key, filter, change filter, transform, validate. A bad record costs itself. */
import type { Evaluator } from '../expressions/evaluator-pool.ts';
import type { Resource } from '../spec/schema.ts';
import { type Candidate, createIdentify } from './candidate.ts';
import { createChangeFilter } from './change-filter.ts';
import { invalidRecord, quarantineEntry, type Redact } from './invalid-record.ts';
import type { KnownRecords } from './known-records.ts';
import type { Outcome, PageOutcome } from './page-outcome.ts';
import { mapWithPauses } from './pauses.ts';
import type { RecordEntry } from './receipt.ts';
import { createRecordFilter } from './record-filter.ts';
import { createShape, type EvaluateRecords } from './shape.ts';

/** What the stages of one run share. */
export interface PipelineOptions {
  readonly resource: Resource;
  readonly params: Readonly<Record<string, unknown>>;
  readonly runId: string;
  /** `$now()` of the run's expressions: a page processed again gives the same rows. */
  readonly startedAt: Date;
  readonly known: KnownRecords;
  readonly evaluator: Evaluator;
  readonly redact: Redact;
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
  const { resource, known } = options;
  const evaluate = createEvaluateRecords(options);
  const identify = createIdentify(resource);
  const dropFiltered = createRecordFilter(resource.filter, evaluate);
  const dropUnchanged = createChangeFilter(resource, known);
  const shape = createShape(resource, evaluate);
  const conclude = createConclude(options);
  return {
    async select(records) {
      const candidates = await dropFiltered(await mapWithPauses(records, identify));
      return { recordsIn: records.length, candidates: await dropUnchanged(candidates) };
    },
    async shape({ recordsIn, candidates }) {
      const outcomes = (await mapWithPauses(await shape(candidates), conclude)).flat();
      return { recordsIn, skipped: recordsIn - outcomes.length, outcomes };
    },
  };
}

function createEvaluateRecords({ resource, params, runId, startedAt, evaluator }: PipelineOptions): EvaluateRecords {
  const bindings = { params, run: { id: runId, startedAt: startedAt.toISOString() }, lookups: {}, each: {} };
  return (expression, records) =>
    evaluator.transform({ expression, records, bindings, now: startedAt, nulls: resource.transformNulls });
}

/** What becomes of a shaped record; empty: it counts as skipped. */
function createConclude({ resource, known, redact }: PipelineOptions): (candidate: Candidate) => Outcome[] {
  return ({ raw, externalId, hash, cursor, issues, data }) => {
    const entry = (status: RecordEntry['status']) => (hash === null ? null : { externalId, hash, cursor, status });
    if (!issues && data) return [{ kind: 'deliver', row: { externalId, data }, entry: entry('delivered'), raw }];
    const found = issues ?? [];
    if (resource.onInvalid === 'fail') throw invalidRecord(resource.key, found, redact);
    if (resource.onInvalid === 'skip') {
      known.forget(externalId);
      return [];
    }
    const row = quarantineEntry({ externalId, raw }, found, redact);
    return [{ kind: 'quarantine', row, entry: entry('quarantined') }];
  };
}
