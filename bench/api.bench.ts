/**
 * Requests per second of the API beside the least an API can be (processes/bare-api.ts), over the same database. No
 * worker runs meanwhile: what is asked for stays queued. BENCH_ROUNDS (3) is a setting.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { setOrgLimits } from '../db/queries/orgs/org-limits.ts';
import { orgScope } from '../db/scope.ts';
import { type Stack, startStack } from '../test/support/service/stack.ts';
import type { BareApiJobs } from './processes/bare-api.ts';
import type { LoadJobs, LoadOptions } from './processes/load.ts';
import { createConnection, customersKey } from './support/customers-sync.ts';
import { median, rounded, setting } from './support/figures.ts';
import { type Partner, startPartner } from './support/partner.ts';

const rounds = setting('BENCH_ROUNDS', 3);
const connectionsOfOrg = 100;
const secondsOfRound = 3;

const started = new AsyncDisposableStack();
const results: Record<string, unknown>[] = [];
const ids: string[] = [];
let stack: Stack;
let load: Partner<LoadJobs>;
let bareUrl: string;

beforeAll(async () => {
  load = started.use(startPartner<LoadJobs>('load'));
  stack = started.use(await startStack({ allow: [], workers: 0 }));
  // Ended before the database is.
  const bare = started.use(startPartner<BareApiJobs>('bare-api'));
  bareUrl = await bare.ask('listen', stack.databaseUrl);
  // No worker takes the runs that are queued.
  await setOrgLimits(stack.db, orgScope(stack.org.orgId), { queuedRuns: 100_000, queuedRunsPerResource: 100_000 });
  for (let n = 0; n < connectionsOfOrg; n += 1) {
    // Neither of the two is ever asked.
    const options = { url: 'http://127.0.0.1:1', databaseUrl: stack.databaseUrl };
    ids.push(await createConnection(stack, options));
  }
}, 120_000);
afterAll(() => started.disposeAsync());

type Request = Pick<LoadOptions, 'method' | 'paths' | 'inFlight' | 'body' | 'status'>;

const authorization = () => ({ authorization: `Bearer ${stack.org.apiKey}` });

/** Throws on a response with another status. */
const expectResponses = (origin: string, request: Request) => {
  const headers = { ...authorization(), 'content-type': 'application/json' };
  return load.ask('send', { origin, headers, seconds: secondsOfRound, ...request });
};

it.each([
  ['GET /connections/:id', 1],
  ['GET /connections/:id', 32],
  ['GET /connections, 100 rows', 1],
  ['GET /connections, 100 rows', 32],
])('%s, %d in flight', async (what, inFlight) => {
  const paths = what.includes(':id') ? ids.map((id) => `/api/v1/connections/${id}`) : ['/api/v1/connections'];
  const request = { method: 'GET', paths, inFlight, status: 200 } as const;
  await expectSameResponse(paths[0] ?? '');
  // Both are warm before anything counts.
  for (const origin of [stack.apiUrl, bareUrl]) await expectResponses(origin, request);
  const measured: { readonly own: Sent; readonly bare: Sent }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push({ own: await expectResponses(stack.apiUrl, request), bare: await expectResponses(bareUrl, request) });
  }
  const middle = (of: (round: (typeof measured)[number]) => number): number => median(measured.map(of));
  results.push({
    what,
    'in flight': inFlight,
    'requests/s': Math.round(middle(({ own }) => own.perSecond)),
    'of bare': rounded(middle(({ own, bare }) => own.perSecond / bare.perSecond)),
    'p50 ms': rounded(middle(({ own }) => own.p50)),
    'p99 ms': rounded(middle(({ own }) => own.p99)),
    'bare requests/s': Math.round(middle(({ bare }) => bare.perSecond)),
    'bare p50 ms': rounded(middle(({ bare }) => bare.p50)),
    'bare p99 ms': rounded(middle(({ bare }) => bare.p99)),
  });
});

type Sent = Awaited<ReturnType<typeof expectResponses>>;

async function expectSameResponse(path: string): Promise<void> {
  const headers = authorization();
  const read = async (origin: string): Promise<unknown> =>
    JSON.parse(await load.ask('read', { origin, path, headers }));
  expect(await read(bareUrl)).toEqual(await read(stack.apiUrl));
}

it('POST sync, one in flight', async () => {
  const paths = ids.map((id) => `/api/v1/connections/${id}/sync`);
  const body = JSON.stringify({ resource: customersKey });
  const request = { method: 'POST', paths, inFlight: 1, body, status: 202 } as const;
  await expectResponses(stack.apiUrl, request);
  const measured: Sent[] = [];
  for (let round = 0; round < rounds; round += 1) measured.push(await expectResponses(stack.apiUrl, request));
  const p50 = median(measured.map((sent) => sent.p50));
  results.push({
    what: 'POST /connections/:id/sync',
    'in flight': 1,
    'requests/s': Math.round(median(measured.map(({ perSecond }) => perSecond))),
    'p50 ms': rounded(p50),
    'p99 ms': rounded(median(measured.map(({ p99 }) => p99))),
    goal: 'p50 <= 12 ms',
    met: p50 <= 12,
  });
});

it('in one table', () => {
  process.stdout.write('\n');
  console.table(results);
  expect(results).toHaveLength(5);
});
