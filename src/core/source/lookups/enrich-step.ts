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

export interface Subject {
  readonly no: number;
  readonly candidate: Candidate;
  readonly found: Record<string, unknown>;
  /** `null` if a dependency failed. */
  readonly failures: Map<string, Failure | null>;
  /** A step failed, and the spec takes null for its result. */
  isDegraded: boolean;
}

interface Failure {
  readonly message: string;
  readonly quarantine: boolean;
}

export interface StepContext {
  readonly source: Omit<Source, 'watermark'>;
  readonly cache: ResponseMemo;
  readonly pageCache: PageCache;
  readonly store: LookupStore;
  readonly signal: AbortSignal;
  readonly count: CountValues;
  /** Whether one more saved request may be logged for this page and step. */
  readonly mayLog: (step: Step) => boolean;
}

/** `dependsOn` includes the steps that expressions read. */
export type Step = Omit<Enrichment, 'dependsOn'> & { readonly dependsOn: readonly string[] };

/** Throws errors that concern the run, and issues of a record where the spec says `fail`. */
export async function enrichStep(step: Step, subjects: readonly Subject[], context: StepContext): Promise<void> {
  const { source } = context;
  const sound = subjects.filter((subject) => isValid(subject, step));
  const keys = await keysOf(step, sound.map(keyedOf), { source, evaluateEach: createEvaluateEach(source) });
  const responses = await responsesTo(step, distinctAsks(sound, keys, source), context);
  for (const [n, subject] of sound.entries()) assign(step, subject, respondTo(keys[n], responses));
}

function isValid({ failures }: Subject, { assignTo, dependsOn }: Step): boolean {
  if (!dependsOn.some((name) => failures.has(name))) return true;
  failures.set(assignTo, null);
  return false;
}

const keyedOf = ({ candidate, found, no }: Subject) => ({ record: candidate.raw, found, identity: String(no) });

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

/** Omits the request's address, which holds a record's key: the calls of the run show it. */
const failure = ({ assignTo }: Step, cause: AppError): AppError =>
  new AppError(
    cause.code,
    `A request of the enrichment "${assignTo}" failed (${cause.code}); the calls of the run show the response. ` +
      'Set its onError to "null" or "quarantine" to continue without it.',
    { cause },
  );
