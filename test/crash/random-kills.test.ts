import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useStack } from '../support/service/use-stack.ts';
import { expectExactlyOnce, inFlightMax } from '../support/sync/exactly-once.ts';
import { createSync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';
import { watchPages } from '../support/upstream/watched-upstream.ts';

const pages = 500;
const perPage = 100;
const records = pages * perPage;
const kills = 10;

const watch = watchPages(perPage);
const shared = useStack({
  collections: { records: generateRecords(records, { bytes: 200 }) },
  reply: watch.reply,
  latencyMs: 2,
});

test(`${kills} kills at random moments over ${pages} pages lose nothing and deliver nothing twice`, async () => {
  const { stack, upstream } = shared();
  await using sync = await createSync(stack, { upstream, collection: 'records', perPage });
  const moments = randomMoments();
  console.info(`kills after page, ms later: ${moments.map(({ page, ms }) => `${page}+${ms}`).join(', ')}`);
  const runId = await sync.requestPaused();
  const inFlight: number[] = [];
  for (const { page, ms } of moments) {
    const replied = watch.replied('records', page);
    upstream.resume();
    await replied;
    await sleep(ms);
    await stack.killWorker('SIGKILL');
    inFlight.push(await sync.pagesInFlight());
    await stack.startWorker();
  }
  await expectExactlyOnce(stack, { sync, runId, timeoutMs: 120_000 }, { records, inFlight });
  expect(Math.max(...inFlight)).toBeLessThanOrEqual(inFlightMax(perPage));
}, 240_000);

/** In the order of their pages; the last leaves room for a kill before the end of the run. */
function randomMoments(): readonly { readonly page: number; readonly ms: number }[] {
  const draw = (max: number) => Math.floor(Math.random() * max);
  const drawn = Array.from({ length: kills }, () => ({ page: 1 + draw(pages - 20), ms: draw(30) }));
  return drawn.sort((a, b) => a.page - b.page);
}
