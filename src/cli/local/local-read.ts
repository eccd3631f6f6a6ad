/**
 * Reads a resource from the real API with the engine, guarded client, logins and limits of a run, but delivers and
 * keeps nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { assembleSource, type OpenedSource } from '../../connect/assemble-source.ts';
import type { AppError } from '../../core/errors.ts';
import type { Evaluator } from '../../core/expressions/evaluation.ts';
import type { LoggedCall } from '../../core/http/logged-call.ts';
import { createRedactor, type Redactor } from '../../core/http/redact.ts';
import { createMemoryLookups } from '../../core/memory-run/memory-lookups.ts';
import { type MemoryRun, runInMemory } from '../../core/memory-run/memory-run.ts';
import type { HttpClient } from '../../core/model/http.ts';
import { ThrottledError, type ThrottleReason } from '../../core/model/throttled.ts';
import type { ReadyPage } from '../../core/pipeline/batch.ts';
import { invalidRecord } from '../../core/pipeline/quarantine-entry.ts';
import type { RunPage } from '../../core/run/run-page.ts';
import { createMemoryTokens } from '../../core/source/auth/memory-tokens.ts';
import { decodeAtOnce } from '../../core/source/decode/decode-turns.ts';
import { findResource } from '../../core/spec/connection/find-resource.ts';
import type { ConnectorSpec, Resource } from '../../core/spec/schema/spec-schema.ts';
import { testRunId } from '../../core/spec-tests/open-test-source.ts';
import { counted, type Progress } from '../output.ts';
import type { Tools } from '../tools.ts';
import type { LocalValues } from './connection-values.ts';
import { openEvaluator } from './evaluator.ts';
import type { Exchange } from './exchange.ts';
import { givenToken } from './given-token.ts';
import { openEgress } from './local-egress.ts';
import { createMemoryBuckets } from './memory-buckets.ts';
import { type ShownFailure, shownFailure } from './read-failure.ts';

export interface LocalReadOptions {
  readonly spec: ConnectorSpec;
  readonly resourceKey: string;
  readonly values: LocalValues;
  readonly limit: number;
  /** Entries of EGRESS_ALLOW beside those of the environment. */
  readonly allow: readonly string[];
  /** Replaces the login, for auth kinds with tokens; `null` to log in. */
  readonly accessToken: string | null;
  readonly progress: Progress;
}

export interface LocalRead {
  readonly run: MemoryRun;
  readonly startedAt: Date;
  readonly calls: readonly LoggedCall[];
  readonly pages: readonly { readonly page: RunPage; readonly ready: ReadyPage }[];
  /** In order, without credentials and without logins. */
  readonly exchanges: readonly Exchange[];
  /** Given values and obtained tokens. */
  readonly secrets: readonly string[];
  readonly error: ShownFailure | null;
}

/** A failure is part of the result, Ctrl-C too. */
export async function readLocally(tools: Tools, options: LocalReadOptions): Promise<LocalRead> {
  const { spec, values, limit, progress } = options;
  const resource = findResource(spec, options.resourceKey);
  await using stack = new AsyncDisposableStack();
  const evaluator = stack.use(openEvaluator());
  const startedAt = new Date();
  const seen: Seen = { calls: [], pages: [], exchanges: [], secrets: new Set(), redactor: createRedactor([]) };
  const { calls, pages, exchanges, secrets, redactor } = seen;
  const show = () =>
    progress.now(`${resource.key}: ${counted(calls.length, 'request')}, ${counted(recordsOf(pages), 'record')}`);
  const openSource = createOpenSource(tools, options, { evaluator, startedAt, stack, seen, show });
  const run = await endedBy(tools.signal, pages, () =>
    runInMemory(
      {
        runId: testRunId,
        spec,
        params: values.params,
        now: startedAt,
        evaluator,
        lookups: createMemoryLookups(),
        openSource,
        redact: (text) => redactor.values(text),
        recordsMax: limit,
        wait: (ms) => sleep(ms, undefined, { signal: tools.signal }),
        signal: tools.signal,
      },
      {
        resource: { ...resource, onInvalid: 'quarantine' },
        start: { watermark: null, known: [] },
        onPage(page, ready) {
          pages.push({ page, ready });
          show();
        },
      },
    ),
  );
  progress.clear();
  const failure = run.failure ?? refusedRecord(resource, pages);
  const error = tools.signal.aborted
    ? interrupted
    : failure && shownFailure(failure, { spec, resource, values, calls });
  const status = failure ? 'failed' : run.status;
  return { run: { ...run, status }, startedAt, calls, pages, exchanges, secrets: [...secrets], error };
}

interface Seen {
  readonly calls: LoggedCall[];
  readonly pages: { readonly page: RunPage; readonly ready: ReadyPage }[];
  readonly exchanges: Exchange[];
  readonly secrets: Set<string>;
  readonly redactor: Redactor;
}

interface Reading {
  readonly evaluator: Evaluator;
  readonly startedAt: Date;
  readonly stack: AsyncDisposableStack;
  readonly seen: Seen;
  readonly show: () => void;
}

function createOpenSource(
  tools: Tools,
  { spec, values, allow, accessToken, progress }: LocalReadOptions,
  { evaluator, startedAt, stack, seen, show }: Reading,
): (opened: Resource) => Promise<OpenedSource> {
  const egress = openEgress(tools, allow);
  const buckets = createMemoryBuckets();
  const openTokenStore = createMemoryTokensByAuth();
  const usable = accessToken === null ? values : withoutLogin(spec, values);
  return async (resource) => {
    const source = await assembleSource(
      {
        egress,
        socketCache: null,
        evaluator,
        decodeTurns: decodeAtOnce,
        openBuckets: () => buckets,
        openTokenStore,
        // Nobody can sign in here, so the app of the org is never used.
        apps: async () => ({ clientId: 'not-given', clientSecret: null }),
      },
      {
        runId: testRunId,
        connectionId: 'local',
        setup: { spec: oneByOne(spec), specChecksum: 'sha256:local', ...usable },
        resource,
        startedAt,
        backfill: null,
        logCall(call) {
          seen.calls.push(call);
          show();
        },
        onRateLimit: (waitMs, reason) => waitMs >= 1000 && progress.say(waiting(waitMs, reason, spec)),
        redactor: {
          add(secret) {
            seen.secrets.add(secret);
            seen.redactor.add(secret);
          },
          keep(secrets) {
            for (const secret of secrets) seen.secrets.add(secret);
            seen.redactor.keep(secrets);
          },
          values: (text) => seen.redactor.values(text),
        },
        stack,
      },
    );
    const client = patient(source.client, { spec, exchanges: seen.exchanges, progress });
    if (accessToken === null) return { ...source, client };
    source.mask(accessToken);
    return { ...source, client, tokens: source.tokens && givenToken(accessToken) };
  };
}

const recordsOf = (pages: LocalRead['pages']): number => pages.reduce((sum, { page }) => sum + page.records.length, 0);

const interrupted = { code: 'interrupted', message: 'Interrupted; this was read until then.' };

/** Requests in an order that a test can rely on. */
const oneByOne = (spec: ConnectorSpec): ConnectorSpec => ({
  ...spec,
  http: { ...spec.http, rateLimit: { ...spec.http.rateLimit, maxConcurrent: 1 } },
});

/** Placeholders for secrets: with a given token nothing logs in, so missing ones do no harm. */
const withoutLogin = ({ connectionParams }: ConnectorSpec, { params, secrets }: LocalValues): LocalValues => {
  const unused = connectionParams.filter(({ secret }) => secret).map(({ key }) => [key, `not-given-${key}`] as const);
  return { params, secrets: { ...Object.fromEntries(unused), ...secrets } };
};

function createMemoryTokensByAuth() {
  const stores = new Map<string | null, ReturnType<typeof createMemoryTokens>>();
  return (resourceKey: string | null) => {
    const store = stores.get(resourceKey) ?? createMemoryTokens();
    stores.set(resourceKey, store);
    return store;
  };
}

/** Waits in process where a run would wait on a durable timer, and records exchanges. */
function patient(
  client: HttpClient,
  {
    spec,
    exchanges,
    progress,
  }: { readonly spec: ConnectorSpec; readonly exchanges: Exchange[]; readonly progress: Progress },
): HttpClient {
  return {
    ...client,
    async send(request, options) {
      for (;;) {
        try {
          const response = await client.send(request, options);
          exchanges.push({ request, response });
          return response;
        } catch (error) {
          if (!(error instanceof ThrottledError)) throw error;
          progress.say(waiting(error.waitMs, error.reason, spec));
          await sleep(error.waitMs, undefined, { signal: options.signal });
        }
      }
    },
  };
}

function waiting(waitMs: number, reason: ThrottleReason, { http }: ConnectorSpec): string {
  const { requests, perSeconds } = http.rateLimit;
  const why =
    reason === 'limit'
      ? `the limit of the spec is ${counted(requests, 'request')} in ${perSeconds} s (http.rateLimit)`
      : 'the API asks for it';
  return `waiting ${Math.ceil(waitMs / 1000)} s: ${why}`;
}

async function endedBy(
  signal: AbortSignal,
  pages: LocalRead['pages'],
  work: () => Promise<MemoryRun>,
): Promise<MemoryRun> {
  try {
    return await work();
  } catch (error) {
    if (!signal.aborted) throw error;
    const delivered = pages.flatMap(({ ready }) =>
      ready.outcomes.flatMap((outcome) => (outcome.kind === 'deliver' ? [outcome.row.data] : [])),
    );
    const recordsIn = pages.reduce((sum, { ready }) => sum + ready.recordsIn, 0);
    const stats = { recordsIn, recordsOut: delivered.length, skipped: 0, deleted: 0, quarantined: 0 };
    const rest = { failure: null, watermarkAfter: null, deleted: [], quarantined: [] };
    return { status: 'partial', limited: true, stats, delivered, ...rest };
  }
}

/** A run would fail at the first invalid record; here the records are shown too. */
function refusedRecord(resource: Resource, pages: LocalRead['pages']): AppError | null {
  if (resource.onInvalid !== 'fail') return null;
  for (const { ready } of pages)
    for (const outcome of ready.outcomes)
      if (outcome.kind === 'quarantine') return invalidRecord(resource, outcome.row.errors, (text) => text);
  return null;
}
