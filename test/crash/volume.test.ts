import { expect, test } from 'vitest';
import { syncRunId } from '../../workflows/contract.ts';
import { peakMemory } from '../support/service/process-memory.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSync, pageOf } from '../support/sync/sync.ts';
import type { UpstreamResponse } from '../support/upstream/upstream.ts';

const perPage = 100;
const records = 500_000;
/** Half a minute on a machine that has nothing else to do, ms. */
const runMs = 300_000;
/** Where memory is measured before the end. */
const early = 50_000;
const half = 250_000;
/** A heap fills up while there is room, so the first half may add this much, MB: less than the bytes of its records. */
const warmUpMax = 200;
/** The second half of a run needs what the first half needed, factor. */
const growthMax = 1.1;
const eventsMax = 500;

const reached = { [early]: Promise.withResolvers<void>(), [half]: Promise.withResolvers<void>() };
const shared = useStack({ collections: { records: [] }, reply: ({ url }) => respondPage(pageOf(url, perPage)) });

// Peak memory of another process is read from /proc, which only Linux has.
test.skipIf(process.platform !== 'linux')(
  '500,000 records need no more memory than 50,000, and under 500 events',
  async () => {
    const { stack, upstream } = shared();
    await using sync = await createSync(stack, { upstream, collection: 'records', perPage });
    const startedAt = performance.now();
    const runId = await sync.request();
    await reached[early].promise;
    const earlyPeak = await peakMemory(stack.worker().pid);
    await reached[half].promise;
    const halfPeak = await peakMemory(stack.worker().pid);
    const run = await sync.ended(runId, runMs);
    const seconds = (performance.now() - startedAt) / 1000;
    const peak = await peakMemory(stack.worker().pid);
    const workflowId = syncRunId({ connectionId: sync.connectionId, resourceKey: 'records', runId });
    const { historyLength } = await stack.temporal.client.workflow.getHandle(workflowId).describe();
    console.info(
      `peak RSS of the worker: ${earlyPeak} MB at 50,000 records, ${halfPeak} MB at 250,000, ${peak} MB at 500,000; ` +
        `${seconds.toFixed(1)} s, ${historyLength} history events`,
    );
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: records, recordsOut: records } });
    expect(halfPeak - earlyPeak).toBeLessThan(warmUpMax);
    expect(peak).toBeLessThan(halfPeak * growthMax);
    expect(historyLength).toBeLessThan(eventsMax);
  },
  runMs,
);

/** Records made while they are asked for: half a million of them would be the test's own memory. */
function respondPage(page: number): UpstreamResponse {
  const first = (page - 1) * perPage;
  if (first >= early) reached[early].resolve();
  if (first >= half) reached[half].resolve();
  const data = Array.from({ length: perPage }, (_, index) => recordText(first + index));
  const after = first + perPage;
  const next = after < records ? btoa(String(after)) : null;
  return { body: `{"data":[${data.join(',')}],"next_cursor":${JSON.stringify(next)}}` };
}

const filler = 'x'.repeat(300);

const recordText = (index: number): string =>
  `{"id":"r${index}","name":"Name ${index}","email":"user${index}@example.com","amount":${index % 10_000},` +
  `"note":"${filler}","updated_at":"${new Date(1_735_689_600_000 + index * 1000).toISOString()}"}`;
