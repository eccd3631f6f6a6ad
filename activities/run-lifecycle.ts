/** A run ends by its last chunk, or by its workflow if no chunk has ended it. */
import type { Db } from '../db/client.ts';
import { findConnection } from '../db/queries/connections/connections.ts';
import { findAppOfConnection } from '../db/queries/orgs/oauth-apps.ts';
import { type Begun, beginRun as beginInRows } from '../db/queries/runs/lanes/begin-run.ts';
import { endRun as endInRows, type RunEnd, type RunOutcome } from '../db/queries/runs/lanes/end-run.ts';
import { dropLookupValues } from '../db/queries/runs/lookup-cache.ts';
import { countLoginFailures } from '../db/queries/runs/runs.ts';
import { findPinnedSpec } from '../db/queries/specs.ts';
import { type OrgScope, orgScope } from '../db/scope.ts';
import { operatorsDestination } from '../src/connect/operators-destination.ts';
import { hasTables } from '../src/core/destinations/target-table.ts';
import { observations } from '../src/core/observations.ts';
import { namedApps } from '../src/core/spec/connection/grants.ts';
import { storedSpec } from '../src/core/spec/connection/stored-spec.ts';
import type { ConnectorSpec } from '../src/core/spec/schema/spec-schema.ts';
import { workOf } from '../src/core/work-ids.ts';
import type { Deps } from '../src/deps.ts';
import { runInput } from '../src/dispatch/run-input.ts';
import { wakeEndpoints } from '../src/dispatch/wake-endpoints.ts';
import type { RunTotals, SyncRunInput } from '../workflows/contract.ts';
import { idsOf } from '../workflows/input-ids.ts';
import { isRefusal, withFailures } from './failures.ts';
import { countsOf } from './run-ledger.ts';

type LifecycleDeps = Pick<Deps, 'db' | 'orchestrator' | 'log' | 'defaultDestination'>;

/** Runs in a row that may fail at the destination's login before the connection changes to `error`. */
const loginFailuresMax = 3;

export function createRunActivities(deps: LifecycleDeps) {
  return {
    /**
     * Ends a run that no chunk has ended. Safe to run twice: a repeat finds the run ended and only wakes the next
     * (test/integration/lanes.test.ts).
     */
    async endRun(input: SyncRunInput, outcome: RunOutcome): Promise<RunTotals> {
      const report = { write: deps.log.error, message: 'run not ended' };
      return await withFailures(report, () => endRun(deps, input, { outcome }));
    },
  };
}

/** A repeat returns the same. */
export async function beginRun(
  deps: LifecycleDeps,
  input: SyncRunInput,
  options?: Parameters<typeof beginInRows>[3],
): Promise<Begun> {
  const scope = orgScope(input.orgId);
  const begun = await beginInRows(deps.db, scope, input.runId, options);
  if (begun.eventsFor > 0) void wakeEndpoints(deps, scope);
  return begun;
}

export interface Ending extends Omit<RunEnd, 'runId' | 'breaksConnection' | 'provider' | 'isTestable'> {
  /** False if the run has certainly stored no values of lookups. */
  readonly keepsLookups?: boolean;
}

/**
 * Ends the run, then wakes those whose turn may have come; a repeat only wakes. A lost wake-up costs the next run at most its
 * 30 s timer. Throws `fenced` when the owner no longer holds the lane.
 */
export async function endRun(
  deps: LifecycleDeps,
  input: SyncRunInput,
  { keepsLookups = true, ...ending }: Ending,
): Promise<RunTotals> {
  const scope = orgScope(input.orgId);
  const { outcome } = ending;
  const breaksConnection = await isBreaking(deps, input, outcome);
  const facts = breaksConnection ? await breakFacts(deps, input, outcome) : {};
  const end = { ...ending, runId: input.runId, breaksConnection, ...facts };
  const { run, ended, eventsFor, next } = await endInRows(deps.db, scope, end);
  if (ended && ending.last) observations.batchRecorded.publish(countsOf(ending.last));
  for (const waiting of next) await wake(deps, runInput(scope, waiting));
  if (eventsFor > 0) await wakeEndpoints(deps, scope);
  if (keepsLookups) await dropLookupValues(deps.db, scope, input);
  return { status: run?.status ?? 'deleted', ...run?.statsJson };
}

/**
 * True if the customer must act: the API refuses the credentials, the destination refuses them several times in a row, or it
 * no longer exists.
 */
async function isBreaking({ db }: Pick<Deps, 'db'>, input: SyncRunInput, { error }: RunOutcome): Promise<boolean> {
  if (error === null || !isRefusal(error.code)) return false;
  if (error.code !== 'destination_login') return true;
  const last = loginFailuresMax - 1;
  const { connectionId } = input;
  return (await countLoginFailures(db, orgScope(input.orgId), { connectionId, last })) === last;
}

/**
 * `provider` is where the customer has to authorize the connection again, as its spec names it, or `null`. `isTestable` is
 * whether a test can show that it is mended: tests never post to a webhook or create a report.
 */
async function breakFacts(
  { db, defaultDestination }: Pick<Deps, 'db' | 'defaultDestination'>,
  { orgId, connectionId, resourceKey }: SyncRunInput,
  { error }: RunOutcome,
): Promise<Pick<RunEnd, 'provider' | 'isTestable'>> {
  const scope = orgScope(orgId);
  const connection = await findConnection(db, scope, connectionId);
  const pinned = await findPinnedSpec(db, scope, connectionId);
  const checked = connection && pinned && storedSpec(pinned.specJson, connection.specOverridesJson);
  if (!checked?.valid) return { provider: null, isTestable: true };
  const { auth, metadata, destination, resources } = checked.spec;
  if (error?.code !== 'auth_failed') {
    return { provider: null, isTestable: hasTables(destination ?? operatorsDestination(defaultDestination)) };
  }
  const hasJob = resources.some(({ key, job }) => key === resourceKey && job !== undefined);
  const isAuthorized =
    auth.kind === 'oauth2_authorization_code' && !(await lacksApp(db, scope, connectionId, checked.spec));
  return { provider: isAuthorized ? metadata.name : null, isTestable: !hasJob };
}

/** True if the org has not made an app that the spec names, about which the customer can do nothing. */
async function lacksApp(db: Db, scope: OrgScope, connectionId: string, spec: ConnectorSpec): Promise<boolean> {
  for (const key of namedApps(spec)) {
    if (!(await findAppOfConnection(db, scope, { connectionId, key }))) return true;
  }
  return false;
}

async function wake({ orchestrator, log }: Pick<Deps, 'orchestrator' | 'log'>, next: SyncRunInput): Promise<void> {
  await workOf(idsOf(next), async () => {
    try {
      await orchestrator.wakeRun(next);
    } catch (error) {
      log.warn('next run not woken; its timer wakes it', { error });
    }
  });
}
