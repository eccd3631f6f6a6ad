/** From the setup of a run to everything its pages go through: source, pipeline, destination, delivery. */
import * as v from 'valibot';
import type { Attempt } from '../db/queries/attempts.ts';
import { takeToken } from '../db/queries/buckets.ts';
import { findRecordStates } from '../db/queries/record-state.ts';
import type { OrgScope } from '../db/scope.ts';
import { targetTable } from '../src/core/destinations/columns.ts';
import type { Destination, TargetTable } from '../src/core/destinations/destination.ts';
import { openDestination } from '../src/core/destinations/registry.ts';
import { AppError } from '../src/core/errors.ts';
import { renderTemplate } from '../src/core/expressions/template.ts';
import { createHttpClient, type LoggedCall } from '../src/core/http/client.ts';
import { createRedactor, type Redactor } from '../src/core/http/redact.ts';
import { createKnownRecords } from '../src/core/pipeline/known-records.ts';
import { createPipeline, type Pipeline } from '../src/core/pipeline/process-page.ts';
import { createClassify } from '../src/core/source/classify.ts';
import { credentialValues } from '../src/core/source/credentials.ts';
import { createEvaluate } from '../src/core/source/evaluate.ts';
import { openTokens } from '../src/core/source/open-tokens.ts';
import type { Source } from '../src/core/source/source.ts';
import { createTokenClient } from '../src/core/source/token-client.ts';
import { DestinationSpec } from '../src/core/spec/destination-schema.ts';
import type { Deps } from '../src/deps.ts';
import type { Log } from '../src/log.ts';
import { type CallLog, openCallLog } from './call-log.ts';
import { createDelivery, type Delivery } from './delivery.ts';
import type { StartPoint } from './repair.ts';
import { loadSetup, type RunSetup } from './run-setup.ts';
import { createTokenStore } from './token-store.ts';

/** A run with everything open that one attempt needs. Disposing closes connections, not the run. */
export interface OpenRun extends AsyncDisposable {
  readonly setup: RunSetup;
  readonly startedAt: Date;
  readonly log: Log;
  /** What is read; from which watermark, the start point says. */
  readonly source: Omit<Source, 'watermark'>;
  readonly destination: Destination;
  readonly target: TargetTable;
  readonly pipeline: Pipeline;
  createDelivery(start: Pick<StartPoint, 'batchNo' | 'fresh'>): Delivery;
}

/** Opens a run for one attempt. Throws `spec_invalid` when spec and connection do not fit together any more. */
export async function openRun(
  deps: Deps,
  scope: OrgScope,
  { runId, attempt }: { readonly runId: string; readonly attempt: Attempt },
): Promise<OpenRun> {
  const { db, evaluator } = deps;
  const setup = await loadSetup(deps, scope, attempt);
  const { resource, params } = setup;
  const startedAt = new Date(attempt.startedAt ?? Date.now());
  const callLog = await openCallLog(db, scope, runId);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => callLog.stored().catch((error: unknown) => deps.log.warn('calls not stored', { error })));
  const { destination, target } = await prepareDestination(deps, setup, { id: runId, startedAt });
  stack.use(destination);
  const { source, redactor } = await openSource(deps, scope, { runId, attempt, setup, startedAt, callLog, stack });
  const { laneId, fence } = attempt;
  const known = createKnownRecords(async (externalIds) => {
    const states = await findRecordStates(db, scope, { laneId, externalIds });
    return states.map((state) => ({ ...state, hash: state.hash.toString('base64url') }));
  });
  const redact = (text: string) => redactor.values(text);
  const opened = stack.move();
  return {
    setup,
    startedAt,
    log: deps.log,
    source,
    destination,
    target,
    pipeline: createPipeline({ resource, params, runId, startedAt, known, evaluator, redact }),
    createDelivery: ({ batchNo, fresh }) =>
      createDelivery({
        db,
        scope,
        runId,
        owner: { laneId, fence },
        resource,
        destination,
        known,
        callLog,
        redact,
        batchNo,
        fresh,
      }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

interface SourceParts {
  readonly runId: string;
  readonly attempt: Attempt;
  readonly setup: RunSetup;
  readonly startedAt: Date;
  readonly callLog: CallLog;
  /** Closes the clients with the run. */
  readonly stack: AsyncDisposableStack;
}

/** What is read from, and what masks its secrets: those of today and every token to come. */
interface OpenSource {
  readonly source: OpenRun['source'];
  readonly redactor: Redactor;
}

async function openSource(deps: Deps, scope: OrgScope, parts: SourceParts): Promise<OpenSource> {
  const { runId, attempt, setup, startedAt, callLog, stack } = parts;
  const { spec, resource, params, secrets } = setup;
  const { rateLimit } = spec.http;
  const mask = (secret: string): void => {
    redactor.add(secret);
    client.addSecret(secret);
    tokenClient.addSecret(secret);
  };
  const described: Omit<Source, 'client' | 'tokens' | 'watermark'> = {
    resource,
    http: spec.http,
    auth: resource.auth ?? spec.auth,
    specChecksum: setup.specChecksum,
    params,
    secrets,
    lookups: {},
    each: {},
    run: { id: runId, startedAt: startedAt.toISOString(), mode: 'incremental' },
    backfill: null,
    validators: null,
    evaluator: deps.evaluator,
    mask,
    now: () => new Date(),
  };
  const secretValues = await credentialValues(described);
  const redactor = createRedactor(secretValues);
  const shared = { egress: deps.egress, secrets: secretValues, logCall: (call: LoggedCall) => callLog.write(call) };
  const rate = {
    connectionId: attempt.connectionId,
    name: 'http',
    requests: rateLimit.requests,
    perSeconds: rateLimit.perSeconds,
    burst: rateLimit.burst,
  };
  const client = createHttpClient({
    ...shared,
    takeToken: (_cost, { reserveWithinMs }) => takeToken(deps.db, scope, { rate, waitMsMax: reserveWithinMs }),
    retry: spec.http.retry,
    redirects: spec.http.redirects,
    classify: createClassify(described, createEvaluate(deps.evaluator, startedAt)),
  });
  const tokenClient = createTokenClient(shared);
  stack.use(client);
  stack.use(tokenClient);
  const slot = resource.auth ? resource.key : '';
  const store = createTokenStore(deps, scope, { connectionId: attempt.connectionId, slot });
  const tokens = openTokens(described, { client: tokenClient, store });
  return { source: { ...described, client, tokens }, redactor };
}

/** The destination with its templates filled in; nothing is connected yet. */
async function prepareDestination(
  deps: Pick<Deps, 'egress' | 'evaluator' | 'defaultDestination'>,
  { spec, resource, params, secrets }: RunSetup,
  run: { readonly id: string; readonly startedAt: Date },
): Promise<{ readonly destination: Destination; readonly target: TargetTable }> {
  const declared = spec.destination ?? defaultDestination(deps.defaultDestination);
  const roots = { params, secrets, auth: {}, run: { id: run.id, startedAt: run.startedAt.toISOString() } };
  const filled = await renderTemplate(declared, roots, {
    evaluator: deps.evaluator,
    now: run.startedAt,
    missing: 'omit',
  });
  const options = v.parse(v.looseObject({ kind: v.string() }), filled);
  return {
    destination: openDestination(options, { guard: deps.egress }),
    target: targetTable(resource, declared),
  };
}

function defaultDestination(configured: unknown): DestinationSpec {
  const { success, output } = v.safeParse(DestinationSpec, configured);
  if (success) return output;
  throw new AppError('spec_invalid', 'The spec declares no destination and DEFAULT_DESTINATION is absent or malformed');
}
