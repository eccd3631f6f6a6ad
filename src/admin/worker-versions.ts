/** The operator's commands for worker versions. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcServiceError } from '@temporalio/client';
import { conflict } from '../core/errors.ts';
import { createDeps, type Deps } from '../deps.ts';
import { createLog } from '../log.ts';
import type { AdminTools, CommandResult } from './command.ts';
import { describeTaskQueue, taskQueues } from './task-queues.ts';

interface WorkerBuild {
  readonly buildId: string;
  /**
   * `current`: gets new runs; `draining`: has open runs; `drained`: has none, so its workers may stop; `inactive`: was
   * never current.
   */
  readonly status: 'current' | 'draining' | 'drained' | 'inactive';
}

const deadlineMs = 10_000;
const pauseMs = 500;
const identity = 'connector-sync admin';
const [drainingStatus, drainedStatus] = [1, 2];
const [invalidArgument, notFound, failedPrecondition] = [3, 5, 9];

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
 * `worker-version current`: first waits until the build's workers have polled every queue, as runs would wait in an unpolled
 * one. Throws `conflict` on timeout.
 */
export async function setCurrentWorkerVersion(
  tools: AdminTools,
  { buildId, waitSeconds }: { readonly buildId: string; readonly waitSeconds: number },
): Promise<CommandResult> {
  await using opened = openDeployment(tools);
  const { deploymentName, namespace, deps } = opened;
  await untilServed(() => servedByBuild(opened, buildId), {
    waitSeconds,
    progress: tools.progress,
    who: `workers of build ${buildId}`,
    remedy: `start workers with CSS_DEPLOYMENT_NAME=${deploymentName} and CSS_BUILD_ID=${buildId}`,
  });
  const request = { namespace, deploymentName, buildId, identity };
  await bounded(deps, () => deps.temporal.workflowService.setWorkerDeploymentCurrentVersion(request));
  return {
    json: { deployment: deploymentName, buildId, status: 'current' },
    lines: [`${buildId}  ${statusWords.current}`],
  };
}

/**
 * `worker-version none`: first waits until workers without a build poll every queue. Throws `conflict` on timeout. The
 * deployment's name is read from the workflow queue.
 */
export async function unsetCurrentWorkerVersion(
  tools: AdminTools,
  { waitSeconds }: { readonly waitSeconds: number },
): Promise<CommandResult> {
  await using deps = depsOf(tools);
  const { namespace } = deps.temporal.options;
  const [control] = taskQueues;
  const { current } = await bounded(deps, () => describeTaskQueue(deps.temporal.workflowService, namespace, control));
  const done = { json: { buildId: null }, lines: ['No build is current: new runs go to workers without CSS_BUILD_ID'] };
  if (current === null) return done;
  await untilServed(() => servedWithoutBuild(deps, namespace), {
    waitSeconds,
    progress: tools.progress,
    who: 'workers without a build',
    remedy: 'start workers without CSS_DEPLOYMENT_NAME and CSS_BUILD_ID',
  });
  const request = { namespace, deploymentName: current.deploymentName, buildId: '', identity };
  await bounded(deps, () => deps.temporal.workflowService.setWorkerDeploymentCurrentVersion(request));
  return done;
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
      'The workers are not versioned: set CSS_DEPLOYMENT_NAME and CSS_BUILD_ID for them, and both for this command too.',
    );
  }
  const deps = depsOf({ config });
  const { namespace } = deps.temporal.options;
  return { deps, deploymentName, namespace, [Symbol.asyncDispose]: () => deps[Symbol.asyncDispose]() };
}

const depsOf = ({ config }: Pick<AdminTools, 'config'>): Deps =>
  createDeps(config, createLog({ level: 'silent', name: 'admin' }));

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
  readonly waitSeconds: number;
  readonly progress: AdminTools['progress'];
  readonly who: string;
  readonly remedy: string;
}

async function untilServed(
  served: () => Promise<ReadonlySet<string>>,
  { waitSeconds, progress, who, remedy }: Wait,
): Promise<void> {
  const endsAt = Date.now() + waitSeconds * 1000;
  for (let told = ''; ; ) {
    const polled = await served();
    const missing = taskQueues.flatMap(({ name }) => (polled.has(name) ? [] : [name])).join(', ');
    if (missing === '') return;
    if (Date.now() >= endsAt) {
      throw conflict(`No ${who} serve ${missing}: ${remedy}, then run this command again.`);
    }
    if (told !== missing) progress(`waiting for ${who} that serve ${missing}`);
    told = missing;
    await sleep(pauseMs);
  }
}

/** Queues that workers of a build have polled. */
async function servedByBuild(
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

async function servedWithoutBuild(deps: Deps, namespace: string): Promise<ReadonlySet<string>> {
  const served = await Promise.all(
    taskQueues.map(async (queue) => {
      const { polledBy } = await bounded(deps, () =>
        describeTaskQueue(deps.temporal.workflowService, namespace, queue),
      );
      return polledBy.includes(null) ? [queue.name] : [];
    }),
  );
  return new Set(served.flat());
}

const bounded = <Value>({ temporal }: Deps, call: () => Promise<Value>): Promise<Value> =>
  temporal.withDeadline(Date.now() + deadlineMs, call);

/** Undefined if Temporal does not know it yet. */
async function orUndefined<Value>(ask: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (!isGrpcServiceError(error)) throw error;
    if (![invalidArgument, notFound, failedPrecondition].includes(error.code)) throw error;
    return undefined;
  }
}
