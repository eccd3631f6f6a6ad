/**
 * A deployment under traffic: APIs and workers are replaced one by one, by SIGTERM, while runs, events and requests go on.
 * The client stands for a load balancer: it asks which processes are ready, takes turns, and tries the next one if one does not
 * listen.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { someAtOnce } from '../../src/temporal/some-at-once.ts';
import { syncRunId } from '../../workflows/contract.ts';
import { eventually } from '../support/service/eventually.ts';
import { unusedPort } from '../support/service/temporal-dev-server.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';
import { createEndpoint, emit } from '../support/webhooks/endpoints.ts';
import { startEventReceiver } from '../support/webhooks/event-receiver.ts';

const connections = 10;
const runsEach = 20;
/** Records that a connection has at first, and that each run under traffic finds in addition. */
const [recordsAtFirst, recordsAdded] = [100, 5];
/** Pages of the run that is under way the whole time. */
const [longPages, perPage] = [400, 10];
const events = 500;
const eventsAtOnce = 25;

const receiver = await startEventReceiver();
afterAll(() => receiver[Symbol.asyncDispose]());

const names = Array.from({ length: connections }, (_, n) => `stream${n}`);
const shared = useStack(
  {
    collections: {
      long: generateRecords(longPages * perPage),
      ...Object.fromEntries(names.map((name) => [name, generateRecords(recordsAtFirst)])),
    },
    latencyMs: 15,
  },
  { allow: [receiver.hostPort], workers: 2, env: { API_DRAIN_SECONDS: '1' } },
);

/** Sends requests in turn to the APIs that are ready; it asks them so often, ms. */
const checkMs = 100;

function createBalancer(urls: readonly string[], apiKey: string) {
  const ready = new Set(urls);
  const statuses = new Map<number, number>();
  const closing = new AbortController();
  const checks = urls.map(async (url) => {
    while (!closing.signal.aborted) {
      const state = await fetch(`${url}/api/health/ready`).then(
        ({ status }) => status,
        () => 0,
      );
      if (state === 200) ready.add(url);
      else ready.delete(url);
      await sleep(checkMs, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  });
  let turn = 0;
  const respond = async (url: string, { method, path, body, key }: Sent) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, ...(key === undefined ? {} : { 'idempotency-key': key }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    return JSON.parse(await response.text());
  };
  return {
    /** How often each status came. */
    statuses,
    ready,
    /** The body of the response. Rejects when no API takes the connection, or when one that was taken breaks. */
    async send(request: Sent) {
      turn += 1;
      const inTurn = [...ready, ...ready].slice(turn % ready.size).slice(0, ready.size);
      for (const url of inTurn) {
        try {
          return await respond(url, request);
        } catch (error) {
          if (!isRefused(error)) throw error;
        }
      }
      throw new Error(`No API is ready at ${urls.join(' or ')}`);
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all(checks);
    },
  };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** Of idempotency. */
  readonly key?: string;
}

/** Nobody listened, so nothing was sent. */
const isRefused = (error: unknown): boolean =>
  error instanceof Error &&
  error.cause instanceof Error &&
  'code' in error.cause &&
  error.cause.code === 'ECONNREFUSED';

interface StartedRun {
  readonly sync: Sync;
  readonly name: string;
  readonly runId: string;
}

test('two APIs and two workers are replaced under traffic: nothing fails, and nothing comes twice', async () => {
  const { stack, upstream } = shared();
  const ports = [Number(new URL(stack.apiUrl).port), await unusedPort()];
  const apis = [stack.api(), await stack.startApi({ PORT: String(ports[1]) })];
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  await using balancer = createBalancer(urls, stack.org.apiKey);
  await createEndpoint(stack, receiver, { name: 'orders', eventTypes: ['spec.published'] });
  await using syncs = new AsyncDisposableStack();
  const made = await Promise.all(names.map((name) => createLoaded(name)));
  for (const { sync } of made) syncs.use(sync);
  const long = syncs.use(await createSync(stack, { upstream, collection: 'long', perPage }));
  const longRun = await long.requestPaused();
  upstream.resume();

  const deployed = new AbortController();
  const readers = Array.from({ length: 4 }, async () => {
    while (!deployed.signal.aborted) await balancer.send({ method: 'GET', path: '/runs?limit=20' });
  });
  const runs: StartedRun[] = [];
  const runners = made.map(async ({ name, sync }) => {
    for (let n = 1; n <= runsEach; n += 1) {
      upstream.store(name).put(...generateRecords(recordsAtFirst + n * recordsAdded).slice(-recordsAdded));
      const path = `/connections/${sync.connectionId}/sync`;
      const key = `${sync.connectionId}-${n}`;
      const { id: runId } = await balancer.send({ method: 'POST', path, body: { resource: name }, key });
      runs.push({ sync, name, runId });
      const ask = () => balancer.send({ method: 'GET', path: `/runs/${runId}` });
      await eventually('the run ends', async () => (await ask()).finishedAt);
    }
  });
  const emitted: string[] = [];
  const emitter = (async () => {
    while (emitted.length < events) {
      emitted.push(...(await emit(stack, eventsAtOnce)));
      await receiver.received('orders', emitted.length - eventsAtOnce);
    }
  })();

  await receiver.received('orders', 2 * eventsAtOnce);
  const stopped = stack.workers().length;
  for (const old of stack.workers()) {
    await stack.startWorker();
    await old.kill('SIGTERM');
    expect(old.exitCode()).toBe(0);
  }
  for (const [n, old] of apis.entries()) {
    await old.kill('SIGTERM');
    expect(old.exitCode()).toBe(0);
    await stack.startApi({ PORT: String(ports[n]) });
    await eventually('the new API gets requests', async () => balancer.ready.size === apis.length);
  }
  const ranMeanwhile = runs.length;
  await Promise.all([...runners, emitter]);
  deployed.abort();
  await Promise.all(readers);
  expect((await long.ended(longRun)).status).toBe('succeeded');

  expect(new Set(balancer.statuses.keys())).toEqual(new Set([200, 202]));
  expect(runs).toHaveLength(connections * runsEach);
  expect(ranMeanwhile).toBeGreaterThan(connections);
  const rows = await Promise.all(runs.map(({ sync, runId }) => sync.run(runId)));
  expect(rows.filter(({ status }) => status !== 'succeeded')).toEqual([]);
  const inserted = runsEach * recordsAdded;
  for (const { sync } of made) {
    expect(await sync.destination.writes()).toEqual({ rows: inserted, inserts: inserted, updates: 0, deletes: 0 });
  }
  const inLong = longPages * perPage;
  expect(await long.destination.writes()).toEqual({ rows: inLong, inserts: inLong, updates: 0, deletes: 0 });
  const failed = await failedAttempts([...runs, { sync: long, name: 'long', runId: longRun }]);
  // A task that Temporal gives to a worker in the moment in which it stops to poll reaches nobody, and comes again.
  expect(failed.filter(({ reachedNobody }) => !reachedNobody)).toEqual([]);
  expect(failed.length).toBeLessThanOrEqual(stopped);

  const received = receiver.events('orders').map(({ id }) => id);
  expect(received).toHaveLength(new Set(received).size);
  expect(received).toEqual(expect.arrayContaining(emitted));
  const attempts = stack.db.selectFrom('webhookDeliveries').select(['state', 'delivered', 'attempt']).distinct();
  expect(await attempts.execute()).toEqual([{ state: 'done', delivered: true, attempt: 1 }]);
});

/** A connection whose first run has ended; what is written from here on is counted. */
async function createLoaded(name: string): Promise<{ readonly name: string; readonly sync: Sync }> {
  const { stack, upstream } = shared();
  const sync = await createSync(stack, { upstream, collection: name });
  await sync.ended(await sync.request());
  await sync.destination.audit(name);
  return { name, sync };
}

interface FailedAttempt {
  readonly runId: string;
  /** Whether no worker had it: it timed out, and its run began with the next attempt, which succeeded. */
  readonly reachedNobody: boolean;
  readonly what: unknown;
}

/** What Temporal saw fail or repeated; a run that is handed over in order has nothing of it. */
async function failedAttempts(runs: readonly StartedRun[]): Promise<readonly FailedAttempt[]> {
  const failed: FailedAttempt[] = [];
  await someAtOnce(runs, async ({ sync, name, runId }) => {
    const workflowId = syncRunId({ connectionId: sync.connectionId, resourceKey: name, runId });
    const workflow = shared().stack.temporal.client.workflow.getHandle(workflowId);
    await workflow.result();
    const { events: history } = await workflow.fetchHistory();
    for (const event of history ?? []) {
      const { attempt = 1, lastFailure } = event.activityTaskStartedEventAttributes ?? {};
      const { activityTaskFailedEventAttributes: failure, activityTaskTimedOutEventAttributes: timeout } = event;
      if (attempt === 1 && !failure && !timeout) continue;
      const timedOut = attempt === 2 && lastFailure?.message === 'activity Heartbeat timeout';
      const { startedAt } = await sync.run(runId);
      const { seconds = Infinity, nanos } = event.eventTime ?? {};
      const attemptAt = Number(seconds) * 1000 + Math.floor((nanos ?? 0) / 1e6);
      const reachedNobody = timedOut && Date.parse(startedAt ?? '') >= attemptAt;
      failed.push({ runId, reachedNobody, what: { attempt, lastFailure, failure, timeout } });
    }
  });
  return failed;
}
