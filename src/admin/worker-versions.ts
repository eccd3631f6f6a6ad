/** The operator's commands for versioned workers: which builds there are, and which of them gets new runs. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcServiceError } from '@temporalio/client';
import { controlQueue, syncQueue, webhookQueue } from '../../workflows/contract.ts';
import { conflict } from '../core/errors.ts';
import { createDeps, type Deps } from '../deps.ts';
import { createLog } from '../log.ts';
import type { AdminTools, CommandResult } from './command.ts';

/** A build of the workers, as Temporal sees it. */
interface WorkerBuild {
  readonly buildId: string;
  /**
   * `current`: new runs go to it. `draining`: runs that began on it are still open. `drained`: none is, its workers may
   * stop. `inactive`: it was never current.
   */
  readonly status: 'current' | 'draining' | 'drained' | 'inactive';
}

const queues = [controlQueue, syncQueue, webhookQueue];
const deadlineMs = 10_000;
const pauseMs = 500;
/** As Temporal's API numbers them. */
const [drainingStatus, drainedStatus] = [1, 2];
const [invalidArgument, notFound, failedPrecondition] = [3, 5, 9];

/** `worker-version list`: every build, the newest first. */
export async function listWorkerVersions(tools: AdminTools): Promise<CommandResult> {
  await using opened = openDeployment(tools);
  const builds = await buildsOf(opened);
  return {
    json: { deployment: opened.deploymentName, builds },
    lines: builds.map(({ buildId, status }) => `${buildId}  ${statusWords[status]}`),
  };
}

const statusWords = {
  current: 'current: new runs go to it',
  draining: 'draining: runs that began on it are open; leave its workers running',
  drained: 'drained: stop its workers',
  inactive: 'inactive: it was never current',
} as const;

/**
 * `worker-version current`: new runs go to a build from now on. Waits until workers of the build poll every queue, since
 * runs would wait for a queue that nobody serves. Throws `conflict` if they do not in time.
 */
export async function setCurrentWorkerVersion(
  tools: AdminTools,
  { buildId, waitSeconds }: { readonly buildId: string; readonly waitSeconds: number },
): Promise<CommandResult> {
  await using opened = openDeployment(tools);
  await untilPolled(opened, { buildId, waitSeconds, progress: tools.progress });
  const { deploymentName, namespace, deps } = opened;
  const request = { namespace, deploymentName, buildId, identity: 'connector-sync admin' };
  await bounded(deps, () => deps.temporal.workflowService.setWorkerDeploymentCurrentVersion(request));
  return {
    json: { deployment: deploymentName, buildId, status: 'current' },
    lines: [`${buildId}  ${statusWords.current}`],
  };
}

interface Deployment extends AsyncDisposable {
  readonly deps: Deps;
  readonly deploymentName: string;
  readonly namespace: string;
}

/** Throws `conflict` when the workers are not versioned. */
function openDeployment({ config }: AdminTools): Deployment {
  const { cssDeploymentName: deploymentName } = config;
  if (deploymentName === null) {
    throw conflict(
      'The workers are not versioned: set CSS_DEPLOYMENT_NAME and CSS_BUILD_ID for them, and both for this command too',
    );
  }
  const deps = createDeps(config, createLog({ level: 'silent', name: 'admin' }));
  const { namespace } = deps.temporal.options;
  return { deps, deploymentName, namespace, [Symbol.asyncDispose]: () => deps[Symbol.asyncDispose]() };
}

async function buildsOf({ deps, deploymentName, namespace }: Deployment): Promise<readonly WorkerBuild[]> {
  const request = { namespace, deploymentName };
  const described = await orUndefined(() =>
    bounded(deps, () => deps.temporal.workflowService.describeWorkerDeployment(request)),
  );
  const { routingConfig, versionSummaries } = described?.workerDeploymentInfo ?? {};
  const current = routingConfig?.currentDeploymentVersion?.buildId;
  return (versionSummaries ?? [])
    .toSorted((a, b) => Number(b.createTime?.seconds ?? 0) - Number(a.createTime?.seconds ?? 0))
    .map(({ deploymentVersion, drainageInfo }) => {
      const buildId = deploymentVersion?.buildId ?? '';
      return { buildId, status: buildId === current ? 'current' : drainage(drainageInfo?.status) };
    });
}

const drainage = (status: number | null | undefined): WorkerBuild['status'] =>
  status === drainingStatus ? 'draining' : status === drainedStatus ? 'drained' : 'inactive';

interface Wait {
  readonly buildId: string;
  readonly waitSeconds: number;
  readonly progress: AdminTools['progress'];
}

async function untilPolled(deployment: Deployment, { buildId, waitSeconds, progress }: Wait): Promise<void> {
  const endsAt = Date.now() + waitSeconds * 1000;
  for (let told = ''; ; ) {
    const polled = await queuesOf(deployment, buildId);
    const missing = queues.filter((queue) => !polled.has(queue)).join(', ');
    if (missing === '') return;
    if (Date.now() >= endsAt) {
      throw conflict(
        `No worker of build ${buildId} serves ${missing} in deployment ${deployment.deploymentName}: start workers with CSS_BUILD_ID=${buildId}, then run this command again`,
      );
    }
    if (told !== missing) progress(`waiting for workers of build ${buildId} that serve ${missing}`);
    told = missing;
    await sleep(pauseMs);
  }
}

/** Queues that workers of a build have polled. */
async function queuesOf(
  { deps, deploymentName, namespace }: Deployment,
  buildId: string,
): Promise<ReadonlySet<string>> {
  const request = { namespace, deploymentVersion: { deploymentName, buildId } };
  const described = await orUndefined(() =>
    bounded(deps, () => deps.temporal.workflowService.describeWorkerDeploymentVersion(request)),
  );
  const served = described?.versionTaskQueues ?? [];
  return new Set(served.map(({ name }) => name ?? ''));
}

const bounded = <Value>({ temporal }: Deps, call: () => Promise<Value>): Promise<Value> =>
  temporal.withDeadline(Date.now() + deadlineMs, call);

/** Undefined: Temporal does not know it yet. */
async function orUndefined<Value>(ask: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (!isGrpcServiceError(error)) throw error;
    if (![invalidArgument, notFound, failedPrecondition].includes(error.code)) throw error;
    return undefined;
  }
}
