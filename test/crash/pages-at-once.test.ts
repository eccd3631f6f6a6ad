import { expect, test } from 'vitest';
import { useStack } from '../support/service/use-stack.ts';
import { expectExactlyOnce, inFlightMax } from '../support/sync/exactly-once.ts';
import { createSync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';
import { watchPages } from '../support/upstream/watched-upstream.ts';

const pages = 120;
const perPage = 50;
const records = pages * perPage;
const maxConcurrent = 8;
/** The worker is killed after the response to each of these pages. */
const moments = [3, 40, 85];

const watch = watchPages(perPage);
const shared = useStack({
  collections: { numbered: generateRecords(records) },
  reply: watch.reply,
  // So that the response for a later page often comes first.
  latencyMs: () => Math.random() * 20,
});

test('a worker killed with pages in progress at once fetches only these again and delivers none twice', async () => {
  const { stack, upstream } = shared();
  await using sync = await createSync(stack, {
    upstream,
    collection: 'numbered',
    perPage,
    paging: 'page',
    rateLimit: { requests: 1_000_000, perSeconds: 1, maxConcurrent },
  });
  const runId = await sync.requestPaused();
  const inFlight: number[] = [];
  for (const page of moments) {
    const replied = watch.replied('numbered', page);
    upstream.resume();
    await replied;
    await stack.killWorker('SIGKILL');
    inFlight.push(await sync.pagesInFlight());
    await stack.startWorker();
  }
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight });
  expect(Math.max(...inFlight)).toBeLessThanOrEqual(inFlightMax(perPage, maxConcurrent));
});
