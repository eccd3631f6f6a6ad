import { expect, it } from 'vitest';
import { orgScope } from '../../db/scope.ts';
import { readRunWaits } from '../../src/control/runs/waits.ts';
import { createLog } from '../../src/log.ts';
import { createOrchestrator } from '../../src/temporal/orchestrator.ts';
import { eventually } from '../support/service/eventually.ts';
import { useConnections } from '../support/sync/use-connections.ts';

const { api, connection, shared } = useConnections();

const log = createLog({ level: 'silent', name: 'test' });
/** What a run of the org waits for. */
async function waitOf(runId: string) {
  const { db, temporal, org } = shared().stack;
  const deps = { db, orchestrator: createOrchestrator(temporal.client, log) };
  return (await readRunWaits(deps, orgScope(org.orgId), [runId])).get(runId);
}

it('a run whose API responds late works, and the next of its lane waits for it', async () => {
  api.serve('late', () => ({ body: [{ id: 1 }] }));
  const of = await connection('late', {});
  const held = shared().upstream.hold(shared().upstream.journal.length + 1);
  const [first, second] = [await of.request(), await of.request()];
  await held.reached;
  expect(await waitOf(first)).toMatchObject({
    status: 'running',
    before: null,
    watch: { isPaused: false, activity: { attempt: 1, isStarted: true, nextTryAt: null } },
  });
  expect(await waitOf(second)).toMatchObject({
    status: 'queued',
    before: { id: first, resourceKey: 'late' },
    runsBefore: 1,
    watch: null,
  });
  held.release();
  await of.ended(second);
  expect(await waitOf(first)).toBeUndefined();
});

it('a run whose attempts fail says when the next one begins', async () => {
  let isDown = true;
  api.serve('down', () => (isDown ? { status: 503, body: {} } : { body: [] }));
  const of = await connection('down', {});
  const runId = await of.request();
  const activity = await eventually('an attempt is scheduled for later', async () => {
    const wait = await waitOf(runId);
    return wait?.watch?.activity?.nextTryAt !== null && wait?.watch?.activity;
  });
  expect(activity).toMatchObject({ isStarted: false });
  expect(activity.attempt).toBeGreaterThan(1);
  isDown = false;
  expect(await of.ended(runId)).toMatchObject({ status: 'succeeded' });
});
