import { findPinnedConnection } from '../../../db/queries/connections/connections.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { appsOf, withAppSecrets } from '../../connect/oauth-apps.ts';
import { prepareDestination } from '../../connect/open-destination.ts';
import { openSource } from '../../connect/open-source.ts';
import { openSecrets } from '../../connect/secrets.ts';
import { type ConnectionSetup, ofResource, secretTexts, setUpConnection } from '../../connect/setup.ts';
import { noOutbox } from '../../core/destinations/webhook/outbox.ts';
import { AppError, found } from '../../core/errors.ts';
import type { LoggedCall } from '../../core/http/logged-call.ts';
import { maskError } from '../../core/http/mask-error.ts';
import { createRedactor, type Redactor } from '../../core/http/redact.ts';
import { newId } from '../../core/ids.ts';
import { ThrottledError } from '../../core/model/throttled.ts';
import type { ConnectionTest } from '../../core/resources/connection.ts';
import { leafTexts } from '../../core/source/auth/auth.ts';
import type { TokenStore } from '../../core/source/auth/token-store.ts';
import { readPages } from '../../core/source/read/read-pages.ts';
import { unknownResource } from '../../core/spec/connection/spec-errors.ts';
import type { Resource } from '../../core/spec/schema/spec-schema.ts';
import type { Deps } from '../../deps.ts';
import { samplePartition } from './sample-partition.ts';
import type { CandidateValues } from './values.ts';

type Step = ConnectionTest['steps'][number];

export type ConnectionTestDeps = Pick<
  Deps,
  'db' | 'log' | 'secretBox' | 'egress' | 'evaluators' | 'decodeQueue' | 'defaultDestination'
>;

/** Milliseconds of one step: the caller waits for the response. */
const stepMsMax = 20_000;

export interface TestedConnection {
  readonly test: ConnectionTest;
  /** True if only a new authorization by the customer helps. */
  readonly needsConsent: boolean;
  /** True if the requested side was really tried: there was something to read. */
  readonly proves: boolean;
}

interface TestOptions {
  readonly connectionId: string;
  /** `null` for the first one that can be read without another. */
  readonly resourceKey: string | null;
  readonly only?: 'source' | 'destination' | null;
  /** What the connection would have; its own where absent. */
  readonly candidate?: Candidate;
}

interface Candidate {
  readonly values?: CandidateValues | undefined;
  /** Tokens by slot, see {@link tokenSlot}. */
  readonly tokens: ReadonlyMap<string, TokenStore>;
}

/**
 * Tries everything that a run needs, without delivering anything; failures are in the response. Throws not_found, validation
 * (no such resource).
 */
export async function testConnection(
  deps: ConnectionTestDeps,
  scope: OrgScope,
  { connectionId, resourceKey, only = null, candidate = { tokens: new Map() } }: TestOptions,
): Promise<TestedConnection> {
  const connection = found(await findPinnedConnection(deps.db, scope, connectionId), 'Connection');
  const { specJson, specOverridesJson, paramsJson } = connection;
  const calls: LoggedCall[] = [];
  const redactor = createRedactor([]);
  const { tokens } = candidate;
  const trial: Trial = {
    ...{ deps, scope, connectionId, resourceKey, redactor, tokens },
    logCall: (call) => void calls.push(call),
  };
  const steps: Step[] = [];
  let needsConsent = false;
  let isRead: boolean | null = null;
  const attempt = async <Result>(step: Step['step'], work: (signal: AbortSignal) => Promise<Tried<Result>>) => {
    const { outcome, value, error } = await tried({ ...deps, redactor }, step, work);
    steps.push(outcome);
    needsConsent ||= error instanceof AppError && error.needsConsent;
    return value;
  };
  const setup = await attempt('values', async () => {
    const secrets = candidate.values?.secrets ?? (await openSecrets(deps, deps.db, scope, connectionId));
    redactor.keep(leafTexts(secrets));
    const params = candidate.values?.params ?? paramsJson;
    const stored = setUpConnection({ specJson, specOverridesJson, paramsJson: params, secrets });
    const value = await withAppSecrets(appsOf(deps, deps.db, scope, connectionId), stored);
    redactor.keep(secretTexts(value));
    return { message: 'The values fit the spec.', value };
  });
  if (setup) {
    if (resourceKey !== null && !setup.spec.resources.some(({ key }) => key === resourceKey)) {
      throw unknownResource(setup.spec, 'resource');
    }
    await using stack = new AsyncDisposableStack();
    const opened = { ...trial, setup, stack };
    if (only !== 'destination') isRead = await attempt('source', (signal) => readOnePage(opened, signal));
    if (only !== 'source') await attempt('destination', () => reachDestination(opened));
  }
  const test = {
    ok: steps.every(({ ok }) => ok),
    steps,
    calls: calls.map(({ method, url, statusCode, durationMs, errorCode }) => ({
      method,
      url,
      statusCode,
      durationMs,
      errorCode,
    })),
  };
  return { test, needsConsent, proves: only === 'destination' || isRead === true };
}

interface Trial {
  readonly deps: ConnectionTestDeps;
  readonly scope: OrgScope;
  readonly connectionId: string;
  readonly resourceKey: string | null;
  readonly redactor: Redactor;
  readonly tokens: Candidate['tokens'];
  readonly logCall: (call: LoggedCall) => void;
}

interface OpenTrial extends Trial {
  readonly setup: ConnectionSetup;
  readonly stack: AsyncDisposableStack;
}

interface Tried<Result> {
  readonly message: string;
  readonly value: Result;
}

async function tried<Result>(
  { log, redactor }: Pick<Deps, 'log'> & { readonly redactor: Redactor },
  step: Step['step'],
  work: (signal: AbortSignal) => Promise<Tried<Result>>,
): Promise<{ readonly outcome: Step; readonly value: Result | null; readonly error: unknown }> {
  const startedAt = performance.now();
  const outcomeOf = (outcome: Pick<Step, 'ok' | 'code' | 'message'>): Step => ({
    step,
    ...outcome,
    durationMs: Math.round(performance.now() - startedAt),
  });
  const signal = AbortSignal.timeout(stepMsMax);
  try {
    const { message, value } = await work(signal);
    return { outcome: outcomeOf({ ok: true, code: null, message }), value, error: null };
  } catch (error) {
    maskError(error, (text) => redactor.values(text));
    if (!(error instanceof AppError)) log.warn('step of a connection test failed', { step, error });
    return { outcome: outcomeOf({ ok: false, ...issueOf(error, signal) }), value: null, error };
  }
}

/** Keeps foreign text in the log. */
function issueOf(error: unknown, signal: AbortSignal): Pick<Step, 'code' | 'message'> {
  if (error instanceof AppError) return { code: error.code, message: error.message };
  if (error instanceof ThrottledError)
    return { code: 'source_unavailable', message: `${error.message} Try again then.` };
  if (signal.aborted)
    return {
      code: 'source_unavailable',
      message: `No response within ${stepMsMax / 1000} s. Check that the system is reachable, then try again.`,
    };
  return { code: 'internal', message: 'Unexpected error; see the log of the API.' };
}

/** `value` is true if there was something to read. */
async function readOnePage(trial: OpenTrial, signal: AbortSignal): Promise<Tried<boolean>> {
  const { deps, scope, connectionId, setup, stack, redactor, tokens, logCall } = trial;
  const resource = resourceOf(trial);
  const opening = { connectionId, setup, logCall, redactor, stack, backfill: null };
  const startedAt = new Date();
  const decodeTurns = stack.use(deps.decodeQueue.open(scope.orgId));
  const open = (one: Resource) =>
    openSource({ ...deps, socketCache: null, decodeTurns, tokens }, scope, {
      ...opening,
      resource: one,
      runId: newId('run'),
      startedAt,
    });
  const source = await open(resource);
  await source.tokens?.current(signal);
  const partition = await samplePartition(deps, scope, { connectionId, setup, resource, source, open, signal });
  if ('nothing' in partition) {
    return { message: `${resource.key}: ${partition.nothing}, so there is nothing to read.`, value: false };
  }
  if (resource.job) {
    return { message: `${resource.key}: its report job is created by a sync only, so nothing was read.`, value: false };
  }
  const everything = { ...source, ...partition, watermark: null };
  for await (const page of readPages(everything, { position: null, lookAhead: 0, signal })) {
    if (page.skipped === null) {
      return {
        message: `${resource.key}: the first page has ${page.records.length} record${page.records.length === 1 ? '' : 's'}.`,
        value: true,
      };
    }
    throw new AppError('source_rejected', `${resource.key}: an error rule skips the read (${page.skipped}).`);
  }
  throw new AppError('source_rejected', `${resource.key}: the API returned no page.`);
}

/** By default the first that can be read on its own; throws `spec_invalid`. */
function resourceOf({ setup, resourceKey }: Pick<OpenTrial, 'setup' | 'resourceKey'>): Resource {
  if (resourceKey !== null) return ofResource(setup, resourceKey).resource;
  const [first] = setup.spec.resources;
  const single = setup.spec.resources.find(({ forEach }) => forEach.length === 0) ?? first;
  if (single) return single;
  throw new AppError('spec_invalid', 'The effective spec has no resource.');
}

async function reachDestination(trial: OpenTrial): Promise<Tried<null>> {
  const { deps, setup, stack, logCall } = trial;
  const run = {
    id: newId('run'),
    startedAt: new Date(),
    outbox: noOutbox,
    logCall,
    onStrayRejections: () => undefined,
  };
  const prepared = await prepareDestination(deps, trial.scope, { ...setup, resource: resourceOf(trial) }, run);
  const { destination, targetOf } = prepared;
  stack.use(destination);
  const resources = trial.resourceKey === null ? setup.spec.resources : [resourceOf(trial)];
  return { message: await destination.check(resources.map(targetOf)), value: null };
}
