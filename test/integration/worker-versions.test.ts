import { afterAll, expect, test } from 'vitest';
import { syncRunId, webhookEndpointId } from '../../workflows/contract.ts';
import { runAdmin } from '../support/service/admin.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';
import { createEndpoint, emit } from '../support/webhooks/endpoints.ts';
import { startEventReceiver } from '../support/webhooks/event-receiver.ts';

const [oldBuild, newBuild] = ['1.0.0', '1.1.0'];
const drainage = 'matching.wv.VersionDrainageStatus';

const receiver = await startEventReceiver();
afterAll(() => receiver[Symbol.asyncDispose]());

const shared = useStack(
  { collections: { old: generateRecords(300), new: generateRecords(300), late: generateRecords(10) } },
  {
    allow: [receiver.hostPort],
    env: { CSS_DEPLOYMENT_NAME: 'connector-sync', CSS_BUILD_ID: oldBuild },
    // Temporal looks after three minutes, and then every three, whether a build has open workflows.
    temporal: { [`${drainage}VisibilityGracePeriod`]: '"1s"', [`${drainage}RefreshInterval`]: '"1s"' },
  },
);

const admin = async (...args: readonly string[]) => {
  const { exitCode, stdout, stderr } = await runAdmin(shared().stack.env, 'worker-version', ...args, '--json');
  return exitCode === 0 ? JSON.parse(stdout) : { exitCode, stderr };
};

/** The build that the last task of a workflow went to. */
const buildOf = async (workflowId: string): Promise<string | null | undefined> => {
  const { raw } = await shared().stack.temporal.client.workflow.getHandle(workflowId).describe();
  return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;
};

test('the doctor finds that workers of a build run while no build is current', async () => {
  const { exitCode, stdout } = await runAdmin(shared().stack.env, 'doctor');
  expect(exitCode).toBe(1);
  expect(stdout).toContain('FAULT    temporal.build: No build is current');
});

test('a run ends on the build that it began on, while new runs and long-lived workflows go to the new one', {
  timeout: 180_000,
}, async () => {
  const { stack, upstream } = shared();
  const oldWorker = stack.worker();
  expect(await admin('current', '--build-id', oldBuild)).toMatchObject({ status: 'current' });
  const endpoint = await createEndpoint(stack, receiver, { name: 'orders' });
  await emit(stack);
  await receiver.received('orders', 1);
  expect(await buildOf(webhookEndpointId({ orgId: stack.org.orgId, endpointId: endpoint.id }))).toBe(oldBuild);

  await using before = await createSync(stack, { upstream, collection: 'old' });
  await using after = await createSync(stack, { upstream, collection: 'new' });
  const oldRun = await before.requestPaused();
  const newWorker = await stack.startWorker({ CSS_BUILD_ID: newBuild });
  expect(await admin('current', '--build-id', newBuild)).toMatchObject({ status: 'current' });
  const newRun = await after.requestPaused();
  expect((await admin('list')).builds).toEqual([
    { buildId: newBuild, status: 'current' },
    { buildId: oldBuild, status: 'draining' },
  ]);
  upstream.resume();
  expect((await before.ended(oldRun)).status).toBe('succeeded');
  expect((await after.ended(newRun)).status).toBe('succeeded');
  const workflowOf = ({ connectionId }: typeof before, resourceKey: string, runId: string) =>
    syncRunId({ connectionId, resourceKey, runId });
  expect(await buildOf(workflowOf(before, 'old', oldRun))).toBe(oldBuild);
  expect(await buildOf(workflowOf(after, 'new', newRun))).toBe(newBuild);
  expect(await identities(workflowOf(before, 'old', oldRun))).toEqual([String(oldWorker.pid)]);
  expect(await identities(workflowOf(after, 'new', newRun))).toEqual([String(newWorker.pid)]);

  const count = receiver.events('orders').length;
  await emit(stack);
  await receiver.received('orders', count + 1);
  const workflowId = webhookEndpointId({ orgId: stack.org.orgId, endpointId: endpoint.id });
  await eventually('the endpoint is served by the new build', async () => (await buildOf(workflowId)) === newBuild);

  const isDrained = async () => {
    const { builds } = await admin('list');
    return builds.some(
      (build: { buildId: string; status: string }) => build.buildId === oldBuild && build.status === 'drained',
    );
  };
  // Each question is a process.
  await eventually('the old build is drained', isDrained, { timeoutMs: 120_000, everyMs: 2000 });
  await oldWorker.kill('SIGTERM');
  expect(oldWorker.exitCode()).toBe(0);
});

test('a build that no worker serves does not become current, and the command says what to start', async () => {
  const refused = await admin('current', '--build-id', '9.9.9', '--wait-seconds', '1');
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toContain('No workers of build 9.9.9 serve css-control, css-sync, css-webhooks');
  expect((await admin('list')).builds[0]).toEqual({ buildId: newBuild, status: 'current' });
});

test('without a deployment the commands say that workers are not versioned', async () => {
  const { stack } = shared();
  const env = { ...stack.env, CSS_DEPLOYMENT_NAME: '', CSS_BUILD_ID: '' };
  const { exitCode, stderr } = await runAdmin(env, 'worker-version', 'list');
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('not versioned') });
});

test('runs go to workers without a build again, once such workers serve every queue', async () => {
  const { stack, upstream } = shared();
  const unversioned = { CSS_DEPLOYMENT_NAME: '', CSS_BUILD_ID: '' };
  const none = (...args: readonly string[]) =>
    runAdmin({ ...stack.env, ...unversioned }, 'worker-version', 'none', ...args);
  const early = await none('--wait-seconds', '1');
  expect(early).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('No workers without a build serve') });

  const worker = await stack.startWorker(unversioned);
  await using sync = await createSync(stack, { upstream, collection: 'late' });
  expect(await none()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('No build is current') });
  const run = await sync.request();
  expect((await sync.ended(run)).status).toBe('succeeded');
  const workflowId = syncRunId({ connectionId: sync.connectionId, resourceKey: 'late', runId: run });
  expect(await identities(workflowId)).toEqual([String(worker.pid)]);
});

/** The processes that executed activities of a workflow. */
async function identities(workflowId: string): Promise<readonly string[]> {
  const workflow = shared().stack.temporal.client.workflow.getHandle(workflowId);
  // The run has ended before its workflow is notified of it, and an attempt is in the history once it has ended.
  await workflow.result();
  const { events } = await workflow.fetchHistory();
  const pids = events?.flatMap((event) => event.activityTaskStartedEventAttributes?.identity?.split('@')[0] ?? []);
  return [...new Set(pids)];
}
