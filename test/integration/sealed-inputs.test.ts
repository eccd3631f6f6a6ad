import { Client, WorkflowFailedError } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import type { Payload } from '../../src/core/crypto/payload-codec.ts';
import { createWorkerConverter } from '../../src/temporal/data-converter.ts';
import { workflowBundle } from '../../src/temporal/workflow-bundle.ts';
import {
  controlQueue,
  inboundHookId,
  inboundHookType,
  progressSignal,
  scheduledRunId,
  scheduledRunType,
  syncRunId,
  syncRunType,
  temporalScheduleId,
} from '../../workflows/contract.ts';
import { caseFigure, figure } from '../support/security/figure.ts';
import { sealedBefore } from '../support/security/sealed-before.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const collections = ['forged', 'scheduled', 'signaled', 'completed', 'moved', 'before', 'own'];
const shared = useStack({
  collections: Object.fromEntries(collections.map((name) => [name, generateRecords(600)])),
});

/** Set by Temporal where a schedule starts a workflow. */
const firingKey = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);

/** Whoever reaches Temporal and has no key: what it sends is as `encode` makes it, plain JSON by default. */
function stranger(encode?: (payloads: Payload[]) => Promise<Payload[]>): Client {
  const { connection } = shared().stack.temporal.client;
  const decode = async (payloads: Payload[]) => payloads;
  return new Client({ connection, ...(encode && { dataConverter: { payloadCodecs: [{ encode, decode }] } }) });
}

/** Sends these payloads, whatever it is asked to send. */
const sending = (stolen: readonly Payload[]) => stranger(async () => [...stolen]);

interface Paused {
  readonly input: {
    readonly orgId: string;
    readonly connectionId: string;
    readonly resourceKey: string;
    readonly runId: string;
  };
  readonly workflowId: string;
}

/** A run whose first page does not come. */
async function paused(sync: Sync, resourceKey: string): Promise<Paused> {
  const { connectionId } = sync;
  const runId = await sync.requestPaused();
  const input = { orgId: shared().stack.org.orgId, connectionId, resourceKey, runId };
  return { input, workflowId: syncRunId(input) };
}

const failure = { status: 'failed', error: { code: 'auth_failed', message: 'FORGED' } };

/** The history of a workflow, as Temporal has it. */
const historyOf = (workflowId: string) => shared().stack.temporal.client.workflow.getHandle(workflowId).fetchHistory();

/** Starts `endRun` as an activity of its own; why it failed, as the service reads it. */
async function whyActivityFails(client: Client, id: string, args: readonly unknown[]): Promise<string> {
  await client.activity.start('endRun', { id, taskQueue: controlQueue, startToCloseTimeout: '10s', args: [...args] });
  const handle = shared().stack.temporal.client.activity.getHandle(id);
  const reason = await handle.result().then(
    () => 'executed',
    ({ cause }: Error) => String(cause),
  );
  expect((await handle.describe()).attempt).toBe(1);
  caseFigure('forgedInputs', reason === 'executed');
  return reason;
}

describe('whoever reaches Temporal without a key', () => {
  it('starts no activity with an input of its own', async () => {
    const { stack, upstream } = shared();
    await using sync = await createSync(stack, { upstream, collection: 'forged' });
    const { input } = await paused(sync, 'forged');
    const reason = await whyActivityFails(stranger(), 'forged', [input, failure]);
    expect(reason).toMatch(/endRun was refused.*not sealed by the key ring.*Nothing was done/);
    expect(await sync.run(input.runId)).toMatchObject({ status: 'running' });
    upstream.resume();
    expect(await sync.ended(input.runId)).toMatchObject({ status: 'succeeded' });
  });

  it('starts no workflow with an input of its own, and reads why', async () => {
    const { stack } = shared();
    const input = { orgId: stack.org.orgId, connectionId: 'con_1', resourceKey: 'items' };
    const workflowId = inboundHookId(input);
    await stranger().workflow.start(inboundHookType, { workflowId, taskQueue: controlQueue, args: [input] });
    const result = stack.temporal.client.workflow.getHandle(workflowId).result();
    await expect(result).rejects.toThrow(WorkflowFailedError);
    await expect(result).rejects.toMatchObject({
      cause: {
        message: expect.stringMatching(/inboundHook was refused.*not sealed by the key ring.*Nothing was done/),
      },
    });
    const { events = [] } = await historyOf(workflowId);
    const acts = events?.some((event) => event.activityTaskScheduledEventAttributes) ?? false;
    caseFigure('forgedInputs', acts);
    expect(acts).toBe(false);
  });

  it('starts no run of a schedule that is not due', async () => {
    const { org, db, temporal } = shared().stack;
    await using sync = await createSync(shared().stack, { upstream: shared().upstream, collection: 'scheduled' });
    const { connectionId } = sync;
    const body = { resourceKey: 'scheduled', cron: '0 0 1 1 *' };
    const { id: scheduleId } = (await org.call('POST', `/connections/${connectionId}/schedules`, { body })).body;
    const schedule = temporal.client.schedule.getHandle(temporalScheduleId(scheduleId));
    const outcomes = async () => {
      const { recentActions } = (await schedule.describe()).info;
      const ids = recentActions.map(({ action }) => action.workflow.workflowId);
      return await Promise.all(ids.map((id) => temporal.client.workflow.getHandle(id).result()));
    };

    await stranger().schedule.getHandle(schedule.scheduleId).trigger();
    const triggered = await eventually('it has fired', async () => (await outcomes())[0]);
    expect(triggered.outcome).toBe('skipped: the schedule does not fire at this time');

    const { raw } = await schedule.describe();
    const stolen = raw.schedule?.action?.startWorkflow?.input?.payloads ?? [];
    const workflowId = `${scheduledRunId({ connectionId, resourceKey: 'scheduled', scheduleId })}-2031-01-01T00:00:00Z`;
    await sending(stolen).workflow.start(scheduledRunType, {
      ...{ workflowId, taskQueue: controlQueue, args: [1] },
      typedSearchAttributes: new TypedSearchAttributes([{ key: firingKey, value: new Date('2031-01-01') }]),
    });
    const started = await temporal.client.workflow.getHandle(workflowId).result();
    expect(started.outcome).toBe('skipped: the firing is not due yet');

    const made = await db.selectFrom('runs').select('id').where('scheduleId', '=', scheduleId).execute();
    figure('forgedInputs', { count: made.length, of: 2 });
    expect(made).toEqual([]);
  });

  it('ends no run by a signal with an input of its own', async () => {
    const { stack, upstream } = shared();
    await using sync = await createSync(stack, { upstream, collection: 'signaled' });
    const { input, workflowId } = await paused(sync, 'signaled');
    await stranger().workflow.getHandle(workflowId).signal(progressSignal, { pages: 4711, records: 1, waitsFor: null });
    await eventually('the signal is refused', async () => stack.worker().tail().includes('signal refused'));
    upstream.resume();
    expect(await sync.ended(input.runId)).toMatchObject({ status: 'succeeded' });
    await stack.temporal.client.workflow.getHandle(workflowId).result();
  });

  it('ends no run with a code and words of its own', async () => {
    const { stack, upstream } = shared();
    await using sync = await createSync(stack, { upstream, collection: 'completed' });
    const { input, workflowId } = await paused(sync, 'completed');
    const { client } = stack.temporal;
    const scheduled = await eventually('the chunk is scheduled', async () =>
      (await historyOf(workflowId)).events?.findLast((event) => event.activityTaskScheduledEventAttributes),
    );
    const { activityId } = scheduled.activityTaskScheduledEventAttributes ?? {};
    await client.workflowService.respondActivityTaskFailedById({
      namespace: 'default',
      workflowId,
      activityId: activityId ?? '',
      failure: { message: 'FORGED', applicationFailureInfo: { type: 'auth_failed', nonRetryable: true } },
    });
    const { status, error } = await sync.ended(input.runId);
    upstream.resume();
    caseFigure('forgedInputs', error?.message.includes('FORGED') ?? true);
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'internal' });
    expect(error?.message).toContain('no worker of the service has sealed it');
    const connection = (await stack.org.call('GET', `/connections/${sync.connectionId}`)).body;
    expect(connection.status).toBe('active');
  });
});

describe('a sealed input', () => {
  it('that was taken from a history does nothing elsewhere', async () => {
    const { stack, upstream } = shared();
    await using sync = await createSync(stack, { upstream, collection: 'moved' });
    upstream.failAt(upstream.journal.length + 1, { kind: 'status', status: 400 });
    const failed = await sync.request();
    expect(await sync.ended(failed)).toMatchObject({ status: 'failed' });
    const { connectionId } = sync;
    const { events } = await historyOf(syncRunId({ connectionId, resourceKey: 'moved', runId: failed }));
    const started = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    const ending = events?.findLast((event) => event.activityTaskScheduledEventAttributes);
    const { activityType, input, activityId } = ending?.activityTaskScheduledEventAttributes ?? {};
    expect(activityType?.name).toBe('endRun');
    // As an activity of its own, even of the same id.
    const reason = await whyActivityFails(sending(input?.payloads ?? []), activityId ?? '', [1]);
    expect(reason).toContain('was sealed for another workflow or activity');
    for (const [type, workflowId] of [
      [syncRunType, 'sync:another:one:run_1'],
      [inboundHookType, inboundHookId({ connectionId, resourceKey: 'moved' })],
    ] as const) {
      await sending(started).workflow.start(type, { workflowId, taskQueue: controlQueue, args: [1] });
      await expect(stack.temporal.client.workflow.getHandle(workflowId).result()).rejects.toMatchObject({
        cause: { message: expect.stringContaining('sealed for another workflow') },
      });
    }
  });

  it('of the version before goes on where it was, and nowhere else', async () => {
    const { stack, upstream } = shared();
    await using sync = await createSync(stack, { upstream, collection: 'before' });
    const { input, workflowId } = await paused(sync, 'before');
    await stack.temporal.client.workflow.getHandle(workflowId).terminate();
    const [key] = stack.keyRing;
    if (!key) throw new Error('The ring has a key');
    const earlier = stranger(sealedBefore([key]));
    const options = { taskQueue: controlQueue, args: [{ ...input, steps: 2 }] };
    await earlier.workflow.start(syncRunType, { ...options, workflowId });
    await earlier.workflow.start(syncRunType, { ...options, workflowId: `${workflowId}x` });
    await expect(stack.temporal.client.workflow.getHandle(`${workflowId}x`).result()).rejects.toMatchObject({
      cause: { message: expect.stringContaining('It is for another workflow') },
    });
    expect(await whyActivityFails(earlier, 'before', [input, failure])).toContain('It is for another workflow');
    upstream.resume();
    expect(await sync.ended(input.runId)).toMatchObject({ status: 'succeeded' });
  });

  it('of a run is read again by a worker that replays its history', async () => {
    const { stack, upstream } = shared();
    await using sync = await createSync(stack, { upstream, collection: 'own' });
    const runId = await sync.request();
    await sync.ended(runId);
    const workflowId = syncRunId({ ...sync, resourceKey: 'own', runId });
    await stack.temporal.client.workflow.getHandle(workflowId).result();
    const history = await historyOf(workflowId);
    const logger = new DefaultLogger('ERROR');
    Runtime.install({ logger });
    const bundle = await workflowBundle(loadConfig(process.env).cacheDir, { isVersioned: false, logger });
    const dataConverter = createWorkerConverter(stack.keyRing);
    const replay = async (id: string) => {
      const options = { workflowBundle: bundle, dataConverter };
      for await (const { error } of Worker.runReplayHistories(options, [{ workflowId: id, history }])) return error;
      throw new Error('nothing was replayed');
    };
    expect(await replay(workflowId)).toBeUndefined();
    expect((await replay('sync:another:one:run_1'))?.name).toBe('DeterminismViolationError');
  });
});
