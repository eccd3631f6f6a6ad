import { expect, test } from 'vitest';
import { eventually } from '../support/service/eventually.ts';
import { useAccounts } from '../support/sync/use-accounts.ts';
import { reportJob } from '../support/upstream/report-jobs.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const pages = 60;
const perPage = 100;
/** In the middle of the report. */
const page = 25;

const api = createScriptedApi();
const { account, shared } = useAccounts(api);

const report = {
  key: 'report',
  job: reportJob(),
  request: { path: '/file/{{ job.id }}' },
  pagination: { kind: 'page', size: perPage, inject: { in: 'query', name: 'page' } },
};

/** An API whose jobs are ready once the test says so. Each job has other records than the one before it. */
function serveReports() {
  let jobs = 0;
  let polls = 0;
  let isReady = false;
  const midway = Promise.withResolvers<void>();
  api.serve('create', () => {
    jobs += 1;
    return { body: { id: `job${jobs}` } };
  });
  api.serve('state', () => {
    polls += 1;
    return { body: { status: isReady ? 'completed' : 'running' } };
  });
  api.serve('file', (query, { url }) => {
    const number = Number(query.get('page'));
    // The response is written in the same turn of the event loop.
    if (number >= page) setImmediate(midway.resolve);
    const [, , job] = url.split(/[/?]/);
    const count = number <= pages ? perPage : 0;
    return { body: Array.from({ length: count }, (_, index) => ({ id: `${job}-${(number - 1) * perPage + index}` })) };
  });
  return {
    jobs: () => jobs,
    ready: () => void (isReady = true),
    /** Resolves when the job was asked for once more. */
    polledAgain(): Promise<unknown> {
      const before = polls;
      return eventually('the job is polled', async () => polls > before);
    },
    midway: midway.promise,
  };
}

test('a worker killed while its report is made, and again while it is read, goes on with the same job', async () => {
  const { stack, upstream } = shared();
  const reports = serveReports();
  await using of = await account({ key: 'report', resources: [report] });
  const killAndReplace = async () => {
    await stack.killWorker('SIGKILL');
    await of.destination.quiet();
    await stack.startWorker();
  };
  upstream.pause();
  const asked = upstream.requested(upstream.journal.length + 1);
  const runId = await of.request('report');
  await asked;
  await of.destination.audit('report');
  upstream.resume();

  await reports.polledAgain();
  await killAndReplace();
  await reports.polledAgain();
  expect(await of.destination.count('report')).toBe(0);
  reports.ready();
  await reports.midway;
  await killAndReplace();

  const records = pages * perPage;
  expect(await of.ended(runId)).toMatchObject({
    status: 'succeeded',
    statsJson: { recordsIn: records, recordsOut: records, skipped: 0 },
  });
  expect(await of.destination.writes()).toEqual({ rows: records, inserts: records, updates: 0, deletes: 0 });
  expect(reports.jobs()).toBe(1);
  const files = upstream.journal.filter(({ url }) => url.startsWith('/file/'));
  expect(new Set(files.map(({ url }) => url.split(/[/?]/)[2]))).toEqual(new Set(['job1']));
  expect(files.length).toBeLessThan(2 * pages);
});

test('a worker killed between the request for a job and its id leaves one that nobody reads, and loses nothing', async () => {
  const { stack, upstream } = shared();
  const reports = serveReports();
  await using of = await account({ key: 'orphan', resources: [{ ...report, key: 'orphan' }] });
  const creation = upstream.hold(upstream.journal.length + 1);
  const runId = await of.request('orphan');
  await creation.reached;
  await of.destination.audit('orphan');
  await stack.killWorker('SIGKILL');
  creation.release();
  await stack.startWorker();
  await reports.polledAgain();
  reports.ready();

  const records = pages * perPage;
  expect(await of.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: records } });
  expect(await of.destination.writes()).toEqual({ rows: records, inserts: records, updates: 0, deletes: 0 });
  expect(reports.jobs()).toBe(2);
  expect(await of.live('orphan')).toContain('job2-0');
});
