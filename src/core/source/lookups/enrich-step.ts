import { AppError } from '../../errors.ts';
import type { Candidate } from '../../model/candidate.ts';
import type { Enrichment } from '../../spec/schema/lookup-schema.ts';
import { atOnce } from '../../work/at-once.ts';
import { createEvaluateEach } from '../request/evaluate-each.ts';
import type { Source } from '../source.ts';
import type { ResponseMemo } from './enrich-cache.ts';
import { keysOf, type RecordKey } from './enrich-keys.ts';
import type { PageCache } from './enrich-page-cache.ts';
import { type Ask, createEnrichRequests } from './enrich-request.ts';
import type { CountValues, KeyResponse, KeyResponses } from './enrich-response.ts';
import type { LookupStore } from './lookup-store.ts';

/** A record on its way through the steps. */
export interface Subject {
  /** The place of the record on the page, from 0. */
  readonly no: number;
  readonly candidate: Candidate;
  /** What the steps found so far, by name. */
  readonly found: Record<string, unknown>;
  /** Steps that failed for this record, and why; null: a step that they depend on failed. */
  readonly failures: Map<string, Failure | null>;
  /** A step failed for this record, and the spec takes null for its result. */
  isDegraded: boolean;
}

/** Why a record is invalid; `quarantine`: the spec says to quarantine it. */
interface Failure {
  readonly message: string;
  readonly quarantine: boolean;
}

/** The context of a step. */
export interface StepContext {
  readonly source: Omit<Source, 'watermark'>;
  readonly cache: ResponseMemo;
  readonly pageCache: PageCache;
  /** The store for requests with a `cache`. */
  readonly store: LookupStore;
  readonly signal: AbortSignal;
  /** Counts what the steps find for the page. */
  readonly count: CountValues;
  /** Whether one more request that the cache saved may be logged for this page and step. */
  readonly mayLog: (step: Step) => boolean;
}

/** A step with all dependencies: those it declares, and those its expressions read. */
export type Step = Omit<Enrichment, 'dependsOn'> & { readonly dependsOn: readonly string[] };

/**
 * Looks one enrichment up for the records of a page, each key once. Throws errors that concern the run, and issues of a
 * record where the spec says `fail`.
 */
export async function enrichStep(step: Step, subjects: readonly Subject[], context: StepContext): Promise<void> {
  const { source } = context;
  const sound = subjects.filter((subject) => isValid(subject, step));
  const keys = await keysOf(step, sound.map(keyedOf), { source, evaluateEach: createEvaluateEach(source) });
  const responses = await responsesTo(step, distinctAsks(sound, keys, source), context);
  for (const [n, subject] of sound.entries()) assign(step, subject, respondTo(keys[n], responses));
}

/** Whether the previous steps succeeded; if not, this one has nothing to request. */
function isValid({ failures }: Subject, { assignTo, dependsOn }: Step): boolean {
  if (!dependsOn.some((name) => failures.has(name))) return true;
  failures.set(assignTo, null);
  return false;
}

const keyedOf = ({ candidate, found, no }: Subject) => ({ record: candidate.raw, found, identity: String(no) });

/** One request per key, for the first record that has it. */
function distinctAsks(
  subjects: readonly Subject[],
  keys: readonly RecordKey[],
  { lookups }: Pick<Source, 'lookups'>,
): readonly Ask[] {
  const asks = new Map<string, Ask>();
  for (const [n, { candidate, found }] of subjects.entries()) {
    const key = keys[n];
    if (key?.kind !== 'key' || asks.has(key.text)) continue;
    asks.set(key.text, { key: key.key, text: key.text, record: candidate.raw, lookups: { ...lookups, ...found } });
  }
  return [...asks.values()];
}

/** The responses by key, from the cache or the API. */
async function responsesTo(
  step: Step,
  asks: readonly Ask[],
  { source, cache, pageCache, store, signal, count, mayLog }: StepContext,
): Promise<KeyResponses> {
  if (asks.length === 0) return new Map();
  const requests = createEnrichRequests(source, step, { store, signal });
  const byText = new Map(asks.map((ask) => [ask.text, ask]));
  const batches = (texts: readonly string[]) =>
    inBatches(
      texts.flatMap((text) => byText.get(text) ?? []),
      step.batch?.size ?? 1,
    );
  return await cache.responsesTo([...byText.keys()], pageCache, {
    count,
    async onSaved(texts) {
      for (const batch of batches(texts)) if (mayLog(step)) await requests.logSaved(batch);
    },
    fetch: (texts, found) =>
      atOnce(batches(texts), source.http.rateLimit.maxConcurrent, async (batch) => {
        for (const [text, response] of await requests.fetch(batch)) {
          found.set(text, response);
          count(response);
          if (response.kind === 'failed' && step.onError === 'fail') throw failure(step, response.error);
        }
      }),
  });
}

const inBatches = (asks: readonly Ask[], size: number): readonly (readonly Ask[])[] =>
  Array.from({ length: Math.ceil(asks.length / size) }, (_, n) => asks.slice(n * size, (n + 1) * size));

/** The outcome for a record: a response, the reason why it has no key, or nothing. */
function respondTo(key: RecordKey | undefined, responses: KeyResponses): KeyResponse | string | null {
  if (key?.kind === 'invalid') return key.message;
  return key?.kind === 'key' ? (responses.get(key.text) ?? null) : null;
}

function assign(step: Step, subject: Subject, response: KeyResponse | string | null): void {
  const { assignTo, onMissing, onError } = step;
  const { found, failures } = subject;
  if (response === null) return;
  if (typeof response === 'string') failures.set(assignTo, { message: response, quarantine: false });
  else if (response.kind === 'found') {
    if (response.value !== undefined) found[assignTo] = response.value;
  } else {
    const wish = response.kind === 'missing' ? onMissing : onError;
    if (wish === 'fail') throw response.kind === 'missing' ? notThere(step) : failure(step, response.error);
    if (wish === 'null') {
      found[assignTo] = null;
      subject.isDegraded ||= response.kind === 'failed';
    } else
      failures.set(assignTo, {
        message: response.kind === 'missing' ? missing : response.error.message,
        quarantine: true,
      });
  }
}

const missing = 'the API has no entry for the key of this record';

const notThere = ({ assignTo }: Step): AppError =>
  new AppError(
    'record_invalid',
    `The enrichment "${assignTo}" finds no entry for the key of a record. ` +
      'Set its onMissing to "null" or "quarantine" to continue with the other records.',
  );

/**
 * The error of a step, without the request's address, which holds the key of a record; the calls of the run show it.
 */
const failure = ({ assignTo }: Step, cause: AppError): AppError =>
  new AppError(
    cause.code,
    `A request of the enrichment "${assignTo}" failed (${cause.code}); the calls of the run show the response. ` +
      'Set its onError to "null" or "quarantine" to continue without it.',
    { cause },
  );
