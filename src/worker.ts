/** Process: runs the Temporal worker and the maintenance loop; drains gracefully. */
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Runtime, Worker, type WorkerTuner } from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import { controlQueue, syncQueue, webhookQueue } from '../workflows/contract.ts';
import type { Config } from './config/config.ts';
import { checkKeyRing } from './control/orgs/key-ring-check.ts';
import { postsMax } from './core/deliveries/posts-max.ts';
import { createDeps, type Deps } from './deps.ts';
import { createLog, isDetailed, type Log } from './log.ts';
import { maintain } from './maintenance/maintenance.ts';
import { logObservations } from './observed-lines.ts';
import { configOrExit, endOnUncaught } from './process/entry.ts';
import { announceReady, respondToProbes } from './process/parent-watch.ts';
import { coreMetrics, freeCoreAddress } from './telemetry/metrics/core-exporter.ts';
import { serveMetricsOf, startTracesOf } from './telemetry/telemetry.ts';
import { registerSearchAttributes } from './temporal/register-search-attributes.ts';
import { activityIds, sealedInputs } from './temporal/sealed-inputs.ts';
import { temporalLogger } from './temporal/temporal-logger.ts';
import { startWorkerHealth } from './temporal/worker-health.ts';
import { createLendableSlots, type LendableSlots } from './temporal/worker-slots.ts';
import { workflowBundle } from './temporal/workflow-bundle.ts';

// By default the heap grows to four times a run's need before it is collected: 100 MB for 2 % less work (measured).
setFlagsFromString('--heap-growing-percent=75');
// V8 may mistake objects of the first pages, which wait for each other, for long-lived ones and allocate their kind in old
// space. Two of nine starts spent 50 % more on collection (measured).
setFlagsFromString('--no-allocation-site-pretenuring');

/** Milliseconds for a probe: an absent Temporal must not hold it up longer. */
const reachMs = 2000;

respondToProbes();
const config = configOrExit(process.env);
const log = createLog({ level: config.logLevel, name: 'worker' });
endOnUncaught(log);
logObservations(log, isDetailed(config.logLevel));
const temporalLog = temporalLogger(log.child({ component: 'temporal' }));
const coreAddress = config.metricsPort === null ? null : await freeCoreAddress();
// Forwarding turns messages of the SDK's core into our lines; it would print its own form.
const telemetryOptions = { logging: { forward: {} }, ...coreMetrics(coreAddress) };
Runtime.install({ logger: temporalLog, shutdownSignals: [], telemetryOptions });

const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());

await using traces = await startTracesOf('worker', config);
await using deps = createDeps(config, log, traces ?? undefined);
// A process that serves no chunks takes no first step of a run either.
const slots = createLendableSlots(config.workerQueues.includes('sync') ? config.workerConcurrency : 0);
let polled: readonly Worker[] = [];
let reachTemporal = (): Promise<unknown> => Promise.reject(new Error('not connected yet'));
await using _health = await serveHealth(deps);
await using _metrics = await serveMetricsOf('worker', deps, { coreAddress, slotCounts: () => slots.counts() });
await checkKeyRing(deps, stopping.signal);
const connection = await connectPatiently(log);
if (connection) {
  reachTemporal = async () =>
    connection.withDeadline(Date.now() + reachMs, () => connection.workflowService.getSystemInfo({}));
  const { namespace = 'default' } = loadClientConnectConfig();
  await registerSearchAttributes(connection, { namespace, log });
  const workers = await createWorkers(deps, { connection, namespace });
  stopping.signal.addEventListener('abort', () => {
    for (const worker of workers) worker.shutdown();
  });
  if (stopping.signal.aborted) for (const worker of workers) worker.shutdown();
  polled = workers;
  log.info('worker ready', { queues: config.workerQueues, buildId: config.cssBuildId });
  announceReady();
  const maintenance = maintain(deps, stopping.signal);
  try {
    await Promise.all(workers.map((worker) => worker.run()));
  } finally {
    stopping.abort();
    await maintenance;
    await connection.close();
  }
}
log.info('worker stopped');

/** From the start, so that a worker waiting for the database or Temporal is alive and not ready; `null` without a port. */
async function serveHealth({ db, log: ownLog }: Deps): Promise<AsyncDisposable | null> {
  const { host, workerHealthPort: port } = config;
  const isPolling = () => polled.length > 0 && polled.every((worker) => worker.getState() === 'RUNNING');
  return port === null
    ? null
    : await startWorkerHealth({ host, port, log: ownLog, db, isPolling, reachTemporal: () => reachTemporal() });
}

/** The SDK fails at once when the server is absent; later it survives outages itself. `null` when told to stop. */
async function connectPatiently(ownLog: Log): Promise<NativeConnection | null> {
  const { connectionOptions } = loadClientConnectConfig();
  for (let waitMs = 250; !stopping.signal.aborted; waitMs = Math.min(waitMs * 2, 5000)) {
    try {
      return await NativeConnection.connect(connectionOptions);
    } catch (error) {
      ownLog.warn('Temporal unreachable; trying again', { address: connectionOptions.address, waitMs, error });
      await sleep(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }
  return null;
}

/** The control queue also runs the workflows. */
async function createWorkers(
  ownDeps: Deps,
  { connection: native, namespace }: { readonly connection: NativeConnection; readonly namespace: string },
): Promise<Worker[]> {
  const traced = traces?.workerOptions.interceptors?.activity ?? [];
  const interceptors = { activity: [sealedInputs, ...traced, activityIds] };
  const shared = {
    connection: native,
    namespace,
    dataConverter: ownDeps.dataConverter,
    ...versioned(config),
    activities: createActivities(ownDeps, slots),
    ...traces?.workerOptions,
    interceptors,
    // A cancel reaches a chunk with its next heartbeat; longer throttling would delay it.
    maxHeartbeatThrottleInterval: '500ms',
    // A frozen worker swallows a task per open poll, and each costs a heartbeat timeout. The option
    // maxConcurrentActivityTaskPolls has no effect in SDK 1.24.
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: Math.min(2, config.workerConcurrency) },
    // After a kill, the dead worker's sticky queue is abandoned after 2 s instead of 10.
    stickyQueueScheduleToStartTimeout: '2s',
    // The chunk is notified of a shutdown at once and returns at its page boundary.
    shutdownGraceTime: 0,
    shutdownForceTime: '30s',
  } as const;
  const options = {
    control: {
      ...shared,
      taskQueue: controlQueue,
      workflowBundle: await workflowBundle(config.cacheDir, {
        isVersioned: config.cssBuildId !== null,
        logger: temporalLog,
        ...(traces ? { workflowInterceptorModules: traces.workflowModules } : {}),
      }),
    },
    sync: { ...shared, taskQueue: syncQueue, tuner: tunerWith(slots) },
    webhooks: { ...shared, taskQueue: webhookQueue, maxConcurrentActivityTaskExecutions: postsMax },
  };
  return Promise.all(config.workerQueues.map((queue) => Worker.create(options[queue])));
}

/** Off unless a build is named: a versioned worker gets nothing before its build is made current. */
function versioned({ cssDeploymentName: deploymentName, cssBuildId: buildId }: Config) {
  if (deploymentName === null || buildId === null) return {};
  const version = { deploymentName, buildId };
  // A run stays on its first build until its history is restarted; longer-lived workflows declare otherwise
  // (workflows/versioned.ts).
  return {
    workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior: 'PINNED' },
  } as const;
}

/** The queue of chunks has no workflows; the other slots have the SDK's defaults. */
function tunerWith({ supplier }: LendableSlots): WorkerTuner {
  return {
    activityTaskSlotSupplier: supplier,
    workflowTaskSlotSupplier: { type: 'fixed-size', numSlots: 40 },
    localActivityTaskSlotSupplier: { type: 'fixed-size', numSlots: 100 },
    nexusTaskSlotSupplier: { type: 'fixed-size', numSlots: 100 },
  };
}
