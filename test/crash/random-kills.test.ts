import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useStack } from '../support/service/use-stack.ts';
import { expectExactlyOnce, inFlightMax } from '../support/sync/exactly-once.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';
import { watchPages } from '../support/upstream/watched-upstream.ts';

/** Of each of two runs that are under way at once: a kill hits both, each at a place of its own. */
const pages = 250;
const perPage = 100;
const records = pages * perPage;
/**
 * Temporal retries a run after pauses that grow with its attempts: ten kills of one run waited 57 s for them alone, two runs
 * with five kills each wait 4 s, and have as many interrupted attempts at random places.
 */
const kills = 5;
const names = ['one', 'other'] as const;

const watch = watchPages(perPage);
const shared = useStack({
  collections: Object.fromEntries(names.map((name) => [name, generateRecords(records, { bytes: 200 })])),
  reply: watch.reply,
  latencyMs: 2,
});

test(`${kills} kills at random moments of two runs of ${pages} pages lose nothing and deliver nothing twice`, async () => {
  const { stack, upstream } = shared();
  await using open = new AsyncDisposableStack();
  const runs: { readonly sync: Sync; readonly runId: string; readonly inFlight: number[] }[] = [];
  for (const collection of names) {
    const sync = open.use(await createSync(stack, { upstream, collection, perPage }));
    runs.push({ sync, runId: await sync.requestPaused(), inFlight: [] });
  }
  const moments = randomMoments();
  console.info(`kills after page, ms later: ${moments.map(({ page, ms }) => `${page}+${ms}`).join(', ')}`);
  for (const { page, ms } of moments) {
    // By the one that is ahead: it has not ended then.
    const replied = Promise.race(names.map((name) => watch.replied(name, page)));
    upstream.resume();
    await replied;
    await sleep(ms);
    await stack.killWorker('SIGKILL');
    for (const { sync, inFlight } of runs) inFlight.push(await sync.pagesInFlight());
    await stack.startWorker();
  }
  for (const { sync, runId, inFlight } of runs) {
    await expectExactlyOnce(stack, { sync, runId, timeoutMs: 120_000 }, { records, inFlight });
    expect(Math.max(...inFlight)).toBeLessThanOrEqual(inFlightMax(perPage));
  }
}, 240_000);

/** In the order of their pages; the last leaves room for a kill before the end of the run. */
function randomMoments(): readonly { readonly page: number; readonly ms: number }[] {
  const draw = (max: number) => Math.floor(Math.random() * max);
  const drawn = Array.from({ length: kills }, () => ({ page: 1 + draw(pages - 20), ms: draw(30) }));
  return drawn.sort((a, b) => a.page - b.page);
}
