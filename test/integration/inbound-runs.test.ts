import { afterEach, expect, test } from 'vitest';
import type { RunRow } from '../../src/core/resources/run.ts';
import { createLog } from '../../src/log.ts';
import { createOrchestrator } from '../../src/temporal/orchestrator.ts';
import { inboundHookId } from '../../workflows/contract.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';
import { createHook, type TestHook } from '../support/webhooks/hooks.ts';

const records = 300;
const collections = ['burst', 'stream', 'gathered', 'retried', 'outage'];
const shared = useStack({
  collections: Object.fromEntries(collections.map((name) => [name, generateRecords(records)])),
});

// A test that failed in the outage must not fail the next one.
afterEach(() => shared().stack.temporal.start());

async function openHook(collection: string, rest: object = {}): Promise<{ sync: Sync; hook: TestHook }> {
  const { stack, upstream } = shared();
  const sync = await createSync(stack, { upstream, collection });
  const hook = await createHook(fetch, stack.org, sync.connectionId, { resourceKeys: [collection], ...rest });
  return { sync, hook };
}

/** Each with another body, `atOnce` of them at a time; all are accepted. */
async function postMany({ post }: TestHook, count: number, atOnce: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_item, index) => index).values();
  const send = async () => {
    for (const number of numbers) {
      const reply = await post(`{"number":${number}}`);
      expect([reply.status, await reply.json()]).toEqual([202, { accepted: true }]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, send));
}

/** Oldest first. */
const runsOf = async ({ connectionId }: Sync): Promise<readonly RunRow[]> =>
  (await shared().stack.org.call('GET', `/runs?connectionId=${connectionId}`)).body.toReversed();

const runIdsOf = async (hook: TestHook) =>
  (await hook.requests()).flatMap(({ runs }) => runs.map(({ runId }) => runId));

/** Resolves when every request has its run, and every run has ended. */
async function quiet(sync: Sync, hook: TestHook): Promise<readonly RunRow[]> {
  await eventually('every request has a run', async () => !(await runIdsOf(hook)).includes(null));
  return eventually('every run has ended', async () => {
    const runs = await runsOf(sync);
    return runs.every(({ finishedAt }) => finishedAt !== null) && runs;
  });
}

/** The promise of a hook: whatever was accepted is followed by a run that starts after it came. */
async function expectStartedAfterAll(hook: TestHook, runs: readonly RunRow[]): Promise<void> {
  const startOf = new Map(runs.map(({ id, startedAt }) => [id, startedAt]));
  for (const { receivedAt, runs: asked } of await hook.requests()) {
    const startedAt = startOf.get(asked[0]?.runId ?? '');
    expect(Date.parse(startedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(receivedAt));
  }
}

test('1,000 requests make two runs: one of the first, and one that starts after the last', async () => {
  const { upstream, stack } = shared();
  const { sync, hook } = await openHook('burst', { debounceSeconds: 0 });
  await using _ = sync;
  upstream.pause();
  const asked = upstream.requested(upstream.journal.length + 1);
  await hook.post('first');
  await asked;
  await postMany(hook, 999, 50);
  await eventually('every request has a run', async () => !(await runIdsOf(hook)).includes(null));
  expect(await runsOf(sync)).toMatchObject([
    { trigger: 'webhook', status: 'running' },
    { trigger: 'webhook', status: 'queued' },
  ]);
  upstream.resume();
  const runs = await quiet(sync, hook);
  expect(runs.map(({ status, statsJson }) => [status, statsJson.recordsOut])).toEqual([
    ['succeeded', records],
    ['succeeded', 0],
  ]);
  await expectStartedAfterAll(hook, runs);
  const statuses = Map.groupBy(await hook.requests(), ({ status }) => status);
  expect([statuses.get('accepted')?.length, statuses.get('coalesced')?.length]).toEqual([2, 998]);
  const workflowId = inboundHookId({ connectionId: sync.connectionId, resourceKey: 'burst' });
  const handle = stack.temporal.client.workflow.getHandle(workflowId);
  await eventually('nobody waits any more', async () => (await handle.describe()).status.name === 'COMPLETED');
});

test('requests while runs begin and end each have one that starts after them', async () => {
  const { sync, hook } = await openHook('stream', { debounceSeconds: 0 });
  await using _ = sync;
  await postMany(hook, 300, 3);
  const runs = await quiet(sync, hook);
  expect(runs.length).toBeGreaterThan(1);
  await expectStartedAfterAll(hook, runs);
});

test('requests that come in quick succession are gathered into one run', async () => {
  const { sync, hook } = await openHook('gathered', { debounceSeconds: 5, maxWaitSeconds: 60 });
  await using _ = sync;
  await postMany(hook, 20, 2);
  const runs = await quiet(sync, hook);
  expect(runs).toHaveLength(1);
  await expectStartedAfterAll(hook, runs);
});

test('a request does not wait for the retry of an earlier one, whose run failed', async () => {
  const { upstream } = shared();
  const { sync, hook } = await openHook('retried', { debounceSeconds: 0 });
  await using _ = sync;
  upstream.failAt(upstream.journal.length + 1, { kind: 'status', status: 400 });
  await hook.post('first');
  await eventually('the run of the first has failed', async () => {
    const runs = await runsOf(sync);
    return runs.length === 1 && runs[0]?.status === 'failed' && (await runIdsOf(hook)).includes(null);
  });
  // A workflow that has looked in the meantime waits for the retry.
  const { temporal, org } = shared().stack;
  const orchestrator = createOrchestrator(temporal.client, createLog({ level: 'silent', name: 'test' }));
  const resource = { connectionId: sync.connectionId, resourceKey: 'retried' };
  await orchestrator.noteInbound({ orgId: org.orgId, ...resource });
  const handle = temporal.client.workflow.getHandle(inboundHookId(resource));
  await eventually('the workflow waits', async () => {
    const { events = [] } = await handle.fetchHistory();
    return events?.some(({ timerStartedEventAttributes }) => timerStartedEventAttributes);
  });
  const startMs = performance.now();
  await hook.post('second');
  const runs = await quiet(sync, hook);
  expect(performance.now() - startMs).toBeLessThan(20_000);
  expect(runs.map(({ status }) => status)).toEqual(['failed', 'succeeded']);
  await expectStartedAfterAll(hook, runs);
});

test('with Temporal down a request is accepted within 2 s, and its run happens when Temporal is back', async () => {
  const { stack } = shared();
  const { sync, hook } = await openHook('outage', { debounceSeconds: 0 });
  await using _ = sync;
  await stack.temporal.stop();
  const startMs = performance.now();
  await postMany(hook, 3, 1);
  expect(performance.now() - startMs).toBeLessThan(2000);
  await stack.temporal.start();
  const runs = await quiet(sync, hook);
  expect(runs).toMatchObject([{ trigger: 'webhook', status: 'succeeded', statsJson: { recordsOut: records } }]);
});
