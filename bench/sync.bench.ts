/**
 * Runs of the whole service beside hand-written loops over the same API into the same PostgreSQL (processes/ceiling.ts).
 * Every table is compared with what the API has. Needs Linux and a database server on this machine.
 *
 * BENCH_RECORDS (100000) and BENCH_ROUNDS (3) are settings. A million records, once, and only whole reads:
 *
 *     BENCH_RECORDS=1000000 BENCH_ROUNDS=1 npm run bench -- sync -t "with a cursor: in full"
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { compile } from '../src/core/expressions/compiled/compile.ts';
import { openAuditedDestination } from '../test/support/destinations/audit.ts';
import { testDatabaseUrl } from '../test/support/service/database-server.ts';
import { eventually } from '../test/support/service/eventually.ts';
import { type Stack, startStack } from '../test/support/service/stack.ts';
import type { Paging } from './ceiling/pages.ts';
import type { CeilingForm, CeilingJobs } from './processes/ceiling.ts';
import type { UpstreamJobs } from './processes/upstream.ts';
import { mapping, mappingWithPattern } from './support/customers.ts';
import { connectCustomers, customersKey } from './support/customers-sync.ts';
import { median, setting } from './support/figures.ts';
import { type Partner, startPartner } from './support/partner.ts';
import { collectResults, cpuOf, type Goal, goalRows, type Measured, rateOf, service } from './support/results.ts';
import { syncRuns, tell } from './support/sync-runs.ts';
import { postgresPid, usageOf } from './support/usage.ts';

const records = setting('BENCH_RECORDS', 100_000);
const rounds = Array.from({ length: setting('BENCH_ROUNDS', 3) }, (_unused, index) => index + 1);
const pages = Math.ceil(records / 100);
const latencyMs = 20;
const smallRuns = 20;

const started = new AsyncDisposableStack();
const results = collectResults();
const goals: Goal[] = [];
/** For how long the API held responses back in each round, all of them together. */
const heldSeconds: number[] = [];
let stack: Stack;
let upstream: Partner<UpstreamJobs>;
let ceiling: Partner<CeilingJobs>;
let url: string;
let postgres: number;

beforeAll(async () => {
  upstream = started.use(startPartner<UpstreamJobs>('upstream'));
  ceiling = started.use(startPartner<CeilingJobs>('ceiling'));
  const hostPort = await upstream.ask('listen');
  url = `http://${hostPort}`;
  // As the launcher starts it.
  const env = { NODE_OPTIONS: '--max-semi-space-size=24' };
  stack = started.use(await startStack({ allow: [hostPort], env }));
  postgres = await postgresPid(testDatabaseUrl().href);
}, 60_000);

afterAll(async () => {
  process.stdout.write('\n');
  console.table(results.table());
  console.table(goalRows([...goalsOfReads(), ...goals]));
  await started.disposeAsync();
});

const { expectRunOfService, expectRunOfLoop, expectComplete } = syncRuns(
  () => ({ stack, upstream, ceiling, url, postgres }),
  { records, results },
);

const wholeReads = 'with a cursor: in full';

it.each(rounds)(`${wholeReads}, one in a hundred changed, everything again, round %d`, async () => {
  await using sync = await connectCustomers(stack, { url });
  await using beside = await openAuditedDestination();
  await using bare = await openAuditedDestination();
  await upstream.ask('begin', { records });
  await expectRunOfService(sync, { scenario: wholeReads });
  await expectRunOfLoop(beside, { scenario: wholeReads });
  await expectRunOfLoop(bare, { scenario: wholeReads, form: 'bare' });

  await upstream.ask('change');
  const changed = { scenario: '1 % changed, filtered by the API', count: records / 100 };
  await expectRunOfService(sync, changed);
  await expectRunOfLoop(beside, { ...changed, incremental: true });

  await upstream.ask('change');
  await sync.readEverything();
  const again = { scenario: '1 % changed, everything read again' };
  await expectRunOfService(sync, again);
  await expectRunOfLoop(beside, again);
});

/** A whole read by both; the two are given what the scenario needs. */
async function expectBothToRead({
  paging,
  latency,
  issues,
  ...work
}: {
  readonly scenario: string;
  readonly paging: Paging;
  readonly latency?: number;
  readonly issues?: boolean;
  readonly transform?: string;
  readonly form?: CeilingForm;
}): Promise<void> {
  const { scenario, transform, form } = work;
  await using sync = await connectCustomers(stack, { url, paging, ...(transform && { transform }) });
  await using beside = await openAuditedDestination();
  const behavior = { records, latencyMs: latency ?? 0, issues: issues ?? false };
  await upstream.ask('begin', behavior);
  await expectRunOfService(sync, { scenario });
  if (scenario === slow) heldSeconds.push((await upstream.ask('report')).heldMs / 1000);
  await upstream.ask('begin', behavior);
  await expectRunOfLoop(beside, { scenario, paging, ...(form && { form }) });
}

const bareSocket = 'bare socket';

/** What it takes to ask for the pages one after the other and to do nothing with them. */
async function expectAsked(scenario: string): Promise<void> {
  await upstream.ask('begin', { records, latencyMs });
  const { seconds, cpu, noise, result } = await usageOf({ socket: ceiling.pid, postgres }, () =>
    ceiling.ask('ask', url),
  );
  expect(result).toBe(pages);
  const measured = { seconds, records, cpu: cpu.socket, postgresCpu: cpu.postgres, noise };
  tell(scenario, bareSocket, { seconds, cpu });
  results.add(scenario, bareSocket, measured);
}

const numbered = 'with page numbers: in full';

it.each(rounds)(`${numbered}, round %d`, () => expectBothToRead({ scenario: numbered, paging: 'page' }));

const interpreted = 'with a column for the interpreter';

it.each(rounds)(`${interpreted}, round %d`, async () => {
  expect(compile(mapping)).not.toBeNull();
  expect(compile(mappingWithPattern)).toBeNull();
  await expectBothToRead({ scenario: interpreted, paging: 'cursor', transform: mappingWithPattern, form: 'jsonata' });
});

const slow = `${latencyMs} ms before each response, cursor`;
const slowNumbered = `${latencyMs} ms before each response, page numbers`;

it.each(rounds)(`${slow}, round %d`, async () => {
  await expectBothToRead({ scenario: slow, paging: 'cursor', latency: latencyMs });
  await expectAsked(slow);
});
it.each(rounds)(`${slowNumbered}, round %d`, () =>
  expectBothToRead({ scenario: slowNumbered, paging: 'page', latency: latencyMs }),
);

const failing = '429 every 100th, 500 every 150th, reset every 170th';

it.each(rounds)(`${failing}, round %d`, () => expectBothToRead({ scenario: failing, paging: 'cursor', issues: true }));

it('a hundred records', async () => {
  const [accepted, succeeded, alone]: [number[], number[], number[]] = [[], [], []];
  await upstream.ask('begin', { records: 100 });
  for (let n = 0; n < smallRuns; n += 1) {
    await using sync = await connectCustomers(stack, { url });
    await using beside = await openAuditedDestination();
    const startedAt = performance.now();
    const runId = await sync.request();
    accepted.push(performance.now() - startedAt);
    await sync.ended(runId, 5);
    succeeded.push(performance.now() - startedAt);
    await expectComplete(sync.destination);
    const askedAt = performance.now();
    await ceiling.ask('sync', { url, databaseUrl: beside.url, paging: 'cursor', form: 'whole', incremental: false });
    alone.push(performance.now() - askedAt);
  }
  goals.push(
    {
      what: '100 records into a new table, POST to succeeded, p50',
      result: median(succeeded),
      unit: 'ms',
      atMost: 150,
    },
    { what: 'POST sync to 202, p50', result: median(accepted), unit: 'ms', atMost: 12 },
  );
  goals.push({ what: 'the same 100 records by the whole loop, p50', result: median(alone), unit: 'ms' });
});

it('the first row', async () => {
  const times: number[] = [];
  await upstream.ask('begin', { records });
  for (const _round of rounds) {
    await using sync = await connectCustomers(stack, { url });
    const startedAt = performance.now();
    const requested = sync.request();
    // Until the run has made it, there is no table.
    const isThere = async () => (await sync.destination.query(`select from ${customersKey} limit 1`)).length > 0;
    await eventually('a row is there', isThere, { everyMs: 5 });
    times.push((performance.now() - startedAt) / 1000);
    await sync.ended(await requested);
  }
  goals.push({ what: 'POST to the first row', result: median(times), unit: 's', atMost: 0.3 });
});

it('a worker that is killed at half', async () => {
  const [repeated, twice, waits]: [number[], number[], number[]] = [[], [], []];
  for (const _round of rounds) {
    await using sync = await connectCustomers(stack, { url });
    // A first run makes the table, so that its writes can be counted from the first one on.
    const early = 100;
    await upstream.ask('begin', { records: early });
    await sync.ended(await sync.request());
    await sync.destination.audit(customersKey);
    await upstream.ask('begin', { records });
    const atHalf = upstream.ask('served', pages / 2);
    const runId = await sync.request();
    await atHalf;
    const killedAt = Date.now();
    await stack.killWorker('SIGKILL');
    const [run] = await Promise.all([sync.ended(runId), stack.startWorker()]);
    const report = await upstream.ask('report');
    // What the dead worker had sent arrives within milliseconds of its end.
    const next = report.arrivals.find((at) => at > killedAt + 100) ?? Number.NaN;
    const { rows, inserts, updates } = await sync.destination.writes();
    expect({ status: run.status, rows }).toEqual({ status: 'succeeded', rows: records - early });
    await expectComplete(sync.destination);
    repeated.push(report.pages - report.differentPages);
    twice.push(inserts - rows + updates);
    waits.push((next - killedAt) / 1000);
  }
  goals.push(
    { what: 'kill -9 to the next page asked for', result: median(waits), unit: 's', atMost: 6 },
    { what: 'pages served twice after it', result: Math.max(...repeated), unit: 'pages' },
    { what: 'rows written twice after it', result: Math.max(...twice), unit: 'rows', atMost: 0 },
  );
});

/** Of what is in the first table. */
function goalsOfReads(): readonly Goal[] {
  const figure = (scenario: string, of: (measured: Measured) => number | undefined) =>
    results.middle(scenario, service, of);
  const timesHeld = heldSeconds.length === 0 ? undefined : figure(slow, ({ seconds }) => seconds / median(heldSeconds));
  return [
    ...[wholeReads, numbered].map((scenario) => ({
      what: `${scenario}: records/s beside the whole loop`,
      result: results.ratio(scenario, 'loop, whole', rateOf),
      unit: 'x',
      atLeast: 0.8,
    })),
    {
      what: 'CPU of service and PostgreSQL for a million records',
      result: figure(wholeReads, cpuOf),
      unit: 's',
      atMost: 50,
    },
    { what: 'peak of the worker', result: figure(wholeReads, ({ peakMb }) => peakMb), unit: 'MB', atMost: 350 },
    { what: 'workflow tasks of a run', result: figure(wholeReads, ({ tasks }) => tasks), unit: '', atMost: 6 },
    { what: `${slow}: the time that responses were held back`, result: timesHeld, unit: 'x', atMost: 1.06 },
    {
      what: `${slow}: the time that the pages take a bare socket`,
      result: results.ratio(slow, bareSocket, ({ seconds }) => seconds),
      unit: 'x',
    },
    {
      what: `${slowNumbered}: a thousand pages`,
      result: figure(slowNumbered, ({ seconds }) => (seconds / pages) * 1000),
      unit: 's',
      atMost: 5,
    },
  ];
}
