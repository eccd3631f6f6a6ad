import { expect, it } from 'vitest';
import type { RunRow } from '../../src/core/resources/run.ts';
import { syncRunId } from '../../workflows/contract.ts';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createAsked } from '../support/upstream/asked.ts';
import { reportJob } from '../support/upstream/report-jobs.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useSharedAccounts(api);
const asked = createAsked(() => shared().upstream);

it('waits for a report by the timer of the workflow, job by job, and delivers each record once', async () => {
  let jobs = 0;
  const polls = new Map<string, number>();
  const part = (url: string) => url.split(/[/?]/)[2] ?? '';
  api.serve('create', () => {
    jobs += 1;
    return { body: { id: `job${jobs}` } };
  });
  api.serve('state', (_query, { url }) => {
    const count = (polls.get(part(url)) ?? 0) + 1;
    polls.set(part(url), count);
    return { body: { status: count < 2 ? 'running' : 'completed' } };
  });
  api.serve('file', (query, { url }) => {
    const page = Number(query.get('page'));
    return { body: page < 3 ? [{ id: `${part(url)}-${page}` }] : [] };
  });
  const reports = {
    key: 'reports',
    forEach: [{ as: 'region', values: '{{ ["eu", "us"] }}' }],
    job: reportJob('/create/{{ each.region }}'),
    request: { path: '/file/{{ job.id }}' },
    pagination: { kind: 'page', inject: { in: 'query', name: 'page' } },
  };
  await using of = await account({ key: 'reports', resources: [reports] });
  const run = await of.sync('reports');
  expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 4 } });
  expect(await timersOf(run)).toEqual(
    Array.from({ length: 4 }, () => 'the report of the API is not ready; next check in 1 s'),
  );
  expect(asked('create').map(({ pathname }) => pathname)).toEqual(['/create/eu', '/create/us']);
  expect(asked('state').map(({ pathname }) => pathname)).toEqual([
    '/state/job1',
    '/state/job1',
    '/state/job2',
    '/state/job2',
  ]);
  expect(await of.live('reports')).toEqual(['job1-1', 'job1-2', 'job2-1', 'job2-2']);
});

/** What the timers of a run's workflow wait for, as the Temporal UI shows it. */
async function timersOf({ id: runId, connectionId, resourceKey }: RunRow): Promise<readonly unknown[]> {
  const workflowId = syncRunId({ connectionId, resourceKey, runId });
  const { events } = await shared().stack.temporal.client.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).flatMap(({ timerStartedEventAttributes, userMetadata }) =>
    timerStartedEventAttributes ? [JSON.parse(Buffer.from(userMetadata?.summary?.data ?? []).toString())] : [],
  );
}
