import { WorkflowNotFoundError } from '@temporalio/client';
import { findLastDispatched } from '../../../db/queries/runs/maintenance/backlog.ts';
import { orgScope } from '../../../db/scope.ts';
import { searchAttributes, syncRunId } from '../../../workflows/contract.ts';
import type { Deps } from '../../deps.ts';
import { runInput } from '../../dispatch/run-input.ts';
import { asking, codeOf, deadlineMs } from './ask-temporal.ts';
import { clockFinding, clockMsMax } from './check-database.ts';
import { checkWorkers } from './check-workers.ts';
import { type Finding, found, ok } from './finding.ts';

type Temporal = Deps['temporal'];

const [notFound, permissionDenied, unauthenticated] = [5, 7, 16];
/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keyword = 2;

export async function checkTemporal({ temporal }: Pick<Deps, 'temporal'>): Promise<readonly Finding[]> {
  const ask = asking(temporal);
  const { workflowService, options } = temporal;
  const { namespace } = options;
  const info = await ask(() => workflowService.getSystemInfo({}));
  if (!info.ok) return [unreached(info.code)];
  const reached = ok('temporal.reached', `Temporal ${info.value.serverVersion ?? ''} responds.`);
  const described = await ask(() => workflowService.describeNamespace({ namespace }));
  if (!described.ok) return [reached, noNamespace(namespace, described.code)];
  return [
    reached,
    ok('temporal.namespace', `The namespace ${namespace} is there.`),
    await checkAttributes(temporal, namespace),
    ...(await checkWorkers(temporal, namespace)),
    found('unknown', 'temporal.fairness', {
      detail:
        'Temporal does not show whether matching.enableFairness is on. Without it, orgs with many runs delay others.',
      remedy: 'Look at the dynamic configuration of your Temporal server; on Temporal Cloud, ask its support.',
    }),
  ];
}

function unreached(code: number | null): Finding {
  const refused = code === unauthenticated || code === permissionDenied;
  return found('fault', 'temporal.reached', {
    detail: refused ? 'Temporal refuses the credentials.' : 'Temporal does not respond.',
    remedy: refused
      ? 'Check TEMPORAL_API_KEY, TEMPORAL_TLS_* or the profile, and what they may do.'
      : 'Check TEMPORAL_ADDRESS or the profile, the network, and whether Temporal runs. Runs wait until it is back.',
  });
}

function noNamespace(namespace: string, code: number | null): Finding {
  return found('fault', 'temporal.namespace', {
    detail: code === notFound ? `There is no namespace ${namespace}.` : `The namespace ${namespace} cannot be read.`,
    remedy: `Set TEMPORAL_NAMESPACE, or make it: temporal operator namespace create --namespace ${namespace} --retention 7d`,
  });
}

async function checkAttributes(temporal: Temporal, namespace: string): Promise<Finding> {
  const check = 'temporal.search_attributes';
  const { operatorService } = temporal.connection;
  const listed = await asking(temporal)(() => operatorService.listSearchAttributes({ namespace }));
  const create = (names: readonly string[]) =>
    `temporal operator search-attribute create --namespace ${namespace} ${names.map((name) => `--name ${name} --type Keyword`).join(' ')}`;
  const names = Object.values(searchAttributes);
  if (!listed.ok) {
    return found('unknown', check, {
      detail: 'Temporal does not let us list the search attributes.',
      remedy: `If runs cannot be filtered in its UI: ${create(names)}`,
    });
  }
  const { customAttributes } = listed.value;
  const wrong = names.filter((name) => (customAttributes[name] ?? keyword) !== keyword);
  if (wrong.length > 0) {
    return found('fault', check, {
      detail: `These search attributes have another type than Keyword: ${wrong.join(', ')}. Every start of a run fails.`,
      remedy: 'Remove them in Temporal, and create them again with the type Keyword.',
    });
  }
  const missing = names.filter((name) => customAttributes[name] === undefined);
  if (missing.length === 0) return ok(check, 'Every search attribute is registered.');
  return found('warning', check, {
    detail: `These search attributes are missing: ${missing.join(', ')}. Runs start without any, and cannot be filtered.`,
    remedy: `Start a worker, which registers them, or run: ${create(missing)}`,
  });
}

/**
 * Temporal shows its time only in what it records. The newest run's row has the database's time for the start of its
 * workflow, so their difference is that of the clocks.
 */
export async function checkTemporalClock({ db, temporal }: Pick<Deps, 'db' | 'temporal'>): Promise<Finding> {
  const check = 'temporal.clock';
  const unknown = found('unknown', check, {
    detail: 'Temporal shows its time only with a run that it has begun, and there is none that it still has.',
    remedy: 'Run this command again after the first run.',
  });
  const run = await findLastDispatched(db);
  if (!run) return unknown;
  const workflowId = syncRunId(runInput(orgScope(run.orgId), run));
  try {
    const { startTime } = await temporal.withDeadline(Date.now() + deadlineMs, () =>
      temporal.workflow.getHandle(workflowId).describe(),
    );
    // A run begins on request or, if that failed, by a sweeper; the row records both times.
    const noted = [run.createdAt, run.dispatchedAt].map((time) => Date.parse(time));
    const [nearest = startTime.getTime()] = noted.toSorted(
      (one, other) => apart(one, startTime) - apart(other, startTime),
    );
    // The request itself takes a moment.
    const ownMs = apart(nearest, startTime) <= clockMsMax ? startTime.getTime() : nearest;
    return clockFinding(check, { theirMs: startTime.getTime(), ownMs, whose: 'Temporal' });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || codeOf(error) !== null) return unknown;
    throw error;
  }
}

const apart = (ms: number, time: Date): number => Math.abs(ms - time.getTime());
