import {
  defaultPayloadConverter,
  defineSearchAttributeKey,
  SearchAttributeType,
  TypedSearchAttributes,
} from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { Payload } from '../../src/core/crypto/payload-codec.ts';
import { controlQueue, scheduledRunId, scheduledRunType, syncRunId, toSeconds } from '../../workflows/contract.ts';
import { caseFigure } from '../support/security/figure.ts';
import { sealedBefore } from '../support/security/sealed-before.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const collections = ['fired', 'failed', 'done'];
const shared = useStack({
  collections: Object.fromEntries(collections.map((name) => [name, generateRecords(300)])),
});
const call = (...request: Parameters<ReturnType<typeof shared>['stack']['org']['call']>) =>
  shared().stack.org.call(...request);

/** Set by Temporal where a schedule starts a workflow. */
const firingKey = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);

/** A failure as Temporal has it. */
interface StoredFailure {
  readonly encodedAttributes?: Payload | null;
  readonly applicationFailureInfo?: { readonly type?: string | null; readonly nonRetryable?: boolean | null } | null;
}

/** The events of a workflow, as Temporal has them. */
const eventsOf = async (workflowId: string) =>
  (await shared().stack.temporal.client.workflow.getHandle(workflowId).fetchHistory()).events ?? [];

/** The id of the activity that a workflow has scheduled last. */
async function lastActivity(workflowId: string): Promise<string> {
  const scheduled = await eventually('the chunk is scheduled', async () =>
    (await eventsOf(workflowId)).findLast((event) => event.activityTaskScheduledEventAttributes),
  );
  return scheduled.activityTaskScheduledEventAttributes?.activityId ?? '';
}

/** Ends the activity in progress with a failure, which needs no key; the run must say that it was refused. */
async function expectRefused(sync: Sync, { runId, workflowId }: Run, failure: StoredFailure): Promise<void> {
  const { stack, upstream } = shared();
  const activityId = await lastActivity(workflowId);
  const request = { namespace: 'default', workflowId, activityId, failure: { message: 'Encoded failure', ...failure } };
  await stack.temporal.client.workflowService.respondActivityTaskFailedById(request);
  const { status, error } = await sync.ended(runId);
  upstream.resume();
  caseFigure('forgedInputs', error?.code !== 'internal');
  expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'internal' });
  expect(error?.message).toContain('no worker of the service has sealed it');
  expect((await call('GET', `/connections/${sync.connectionId}`)).body.status).toBe('active');
}

interface Run {
  readonly runId: string;
  readonly workflowId: string;
}

/** Fires a schedule as Temporal does it, at a time of its cron; resolves when the run is there. */
async function fire({ connectionId }: Sync, scheduleId: string, at: string): Promise<Run> {
  const { org, db, temporal } = shared().stack;
  const ids = { connectionId, resourceKey: 'fired', scheduleId };
  const workflowId = `${scheduledRunId(ids)}-${toSeconds(at)}`;
  await temporal.client.workflow.start(scheduledRunType, {
    workflowId,
    taskQueue: controlQueue,
    args: [{ orgId: org.orgId, ...ids }],
    typedSearchAttributes: new TypedSearchAttributes([{ key: firingKey, value: new Date(at) }]),
  });
  const made = db.selectFrom('runs').select('id').where('scheduleId', '=', scheduleId).where('scheduledFor', '=', at);
  const { id } = await eventually('the firing has a run', () => made.executeTakeFirst());
  return { runId: id, workflowId };
}

/** A run whose first page does not come. */
async function pausedRun(sync: Sync, resourceKey: string): Promise<Run> {
  const runId = await sync.requestPaused();
  return { runId, workflowId: syncRunId({ connectionId: sync.connectionId, resourceKey, runId }) };
}

/** A value as it stands in a history of the version before, of any org. */
async function before(value: unknown): Promise<Payload> {
  const [key] = shared().stack.keyRing;
  if (!key) throw new Error('The ring has a key');
  const [sealed] = await sealedBefore([key])([defaultPayloadConverter.toPayload(value)]);
  return sealed ?? {};
}

describe('whoever reaches Temporal without a key', () => {
  it('ends no run with the failure of an earlier firing', async () => {
    const { stack, upstream } = shared();
    await using sync = await createSync(stack, { upstream, collection: 'fired' });
    const { connectionId } = sync;
    const body = { resourceKey: 'fired', cron: '0 0 1 1 *' };
    const { id: scheduleId } = (await call('POST', `/connections/${connectionId}/schedules`, { body })).body;
    await stack.db.updateTable('schedules').set({ createdAt: '2024-06-01' }).where('id', '=', scheduleId).execute();

    upstream.failAt(upstream.journal.length + 1, { kind: 'status', status: 401 });
    const first = await fire(sync, scheduleId, '2025-01-01T00:00:00.000Z');
    expect(await sync.ended(first.runId)).toMatchObject({ error: { code: 'auth_failed' } });
    const events = await eventsOf(first.workflowId);
    const failed = events.find((event) => event.activityTaskFailedEventAttributes)?.activityTaskFailedEventAttributes;
    const scheduled = events.find(({ eventId }) => String(eventId) === String(failed?.scheduledEventId));

    await call('POST', `/connections/${connectionId}/activate`);
    upstream.pause();
    const second = await fire(sync, scheduleId, '2026-01-01T00:00:00.000Z');
    expect(scheduled?.activityTaskScheduledEventAttributes?.activityId).toBe(await lastActivity(second.workflowId));
    await expectRefused(sync, second, failed?.failure ?? {});
  });

  it('ends no run with a code of its own and words that the version before sealed', async () => {
    const { stack, upstream } = shared();
    await using sync = await createSync(stack, { upstream, collection: 'failed' });
    const run = await pausedRun(sync, 'failed');
    const encodedAttributes = await before({ message: 'GET /cursor/other responded with 503.', stack_trace: '' });
    const applicationFailureInfo = { type: 'auth_failed', nonRetryable: true };
    await expectRefused(sync, run, { encodedAttributes, applicationFailureInfo });
  });

  it('ends no run with a result that the version before sealed', async () => {
    const { stack, upstream } = shared();
    await using sync = await createSync(stack, { upstream, collection: 'done' });
    const { runId, workflowId } = await pausedRun(sync, 'done');
    const result = await before({ done: true, limited: false, waitMs: 0, pages: 0, records: 0 });
    await stack.temporal.client.workflowService.respondActivityTaskCompletedById({
      ...{ namespace: 'default', workflowId, activityId: await lastActivity(workflowId) },
      result: { payloads: [result] },
    });
    const { status, error } = await sync.ended(runId);
    upstream.resume();
    caseFigure('forgedInputs', status === 'succeeded');
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'internal' });
    expect(error?.message).toContain('The version before sealed it');
    expect((await call('GET', `/connections/${sync.connectionId}`)).body.status).toBe('active');
  });
});
