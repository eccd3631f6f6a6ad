import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { useStack } from '../support/service/use-stack.ts';
import { expectExactlyOnce, inFlightMax } from '../support/sync/exactly-once.ts';
import { createSync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';
import { watchPages } from '../support/upstream/watched-upstream.ts';

const perPage = 100;
/** With the latency of each page: a run that is longer than the outage. */
const pages = 600;
const latencyMs = 40;
const outageMs = 20_000;

const watch = watchPages(perPage);
const shared = useStack({
  collections: { long: generateRecords(pages * perPage, { bytes: 200 }), short: generateRecords(1000) },
  reply: watch.reply,
  latencyMs,
});

// A test that failed in the outage must not fail the next one.
afterEach(() => shared().stack.temporal.start());

test('with Temporal down a sync is accepted within 2 s and happens when Temporal is back', async () => {
  const { stack, upstream } = shared();
  await using sync = await createSync(stack, { upstream, collection: 'short', perPage });
  await stack.temporal.stop();
  const start = performance.now();
  const runId = await sync.request();
  expect(performance.now() - start).toBeLessThan(2000);
  expect((await sync.run(runId)).status).toBe('queued');
  await stack.temporal.start();
  const run = await sync.ended(runId);
  expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 1000, recordsOut: 1000 } });
});

test('a run goes on while Temporal is down for 20 s, and ends exactly when it is back', async () => {
  const { stack, upstream } = shared();
  await using sync = await createSync(stack, { upstream, collection: 'long', perPage });
  const runId = await sync.requestPaused();
  const replied = watch.replied('long', 20);
  upstream.resume();
  await replied;
  await stack.temporal.stop();
  const before = sync.fetches();
  await sleep(outageMs);
  expect(sync.fetches()).toBeGreaterThan(before + 100);
  await stack.temporal.start();
  await expectExactlyOnce(stack, { sync, runId }, { records: pages * perPage, inFlight: [inFlightMax(perPage)] });
});
