import { expect, test } from 'vitest';
import { syncRunId } from '../../workflows/contract.ts';
import { useStack } from '../support/service/use-stack.ts';
import { expectExactlyOnce } from '../support/sync/exactly-once.ts';
import { createSync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const perPage = 1;
/** A chunk ends after 1,000 pages: three of them. */
const records = 2_100;
/** Events after which the server suggests a new history; its default of 4,096 is a run of days. */
const eventsMax = 15;

const shared = useStack(
  { collections: { endless: generateRecords(records) } },
  { temporal: { 'limit.historyCount.suggestContinueAsNew': String(eventsMax) } },
);

test('a run whose history has grown long goes on in a new one: nothing is read or delivered again', async () => {
  const { stack, upstream } = shared();
  await using sync = await createSync(stack, { upstream, collection: 'endless', perPage });
  const runId = await sync.requestPaused();
  upstream.resume();
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [] });
  const workflowId = syncRunId({ connectionId: sync.connectionId, resourceKey: 'endless', runId });
  const workflow = stack.temporal.client.workflow.getHandle(workflowId);
  // The run has ended before its workflow is notified of it.
  await workflow.result();
  const last = await workflow.describe();
  expect(last.status.name).toBe('COMPLETED');
  expect(last.raw.workflowExecutionInfo?.firstRunId).not.toBe(last.runId);
  expect(last.historyLength).toBeLessThan(2 * eventsMax);
});
