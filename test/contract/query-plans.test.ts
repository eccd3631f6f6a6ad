import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockConnectionOfSchedule } from '../../db/queries/connections/connections.ts';
import { countAllConnections } from '../../db/queries/connections/health.ts';
import { dropTriggers, dueInMs, joinRun } from '../../db/queries/hooks/hook-requests.ts';
import { readDatabaseBytes } from '../../db/queries/maintenance/database-size.ts';
import { noteFailure, resetAttempts, takeLane } from '../../db/queries/runs/attempts.ts';
import { recordBatch } from '../../db/queries/runs/batches/batches.ts';
import { insertCalls, lastCallSequence } from '../../db/queries/runs/calls.ts';
import { markAlive, markDispatched } from '../../db/queries/runs/dispatch.ts';
import { findFiringFacts } from '../../db/queries/runs/firings.ts';
import { beginRun } from '../../db/queries/runs/lanes/begin-run.ts';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { insertInTurn } from '../../db/queries/runs/lanes/insert-in-turn.ts';
import { findRunWaits } from '../../db/queries/runs/lanes/waits.ts';
import { findLastDispatched, readBacklog } from '../../db/queries/runs/maintenance/backlog.ts';
import { findLastBatch, findOpenRuns, findUsedLanes } from '../../db/queries/runs/maintenance/restored.ts';
import { countListed, findDue, findListed } from '../../db/queries/runs/records/listed-deletions.ts';
import { countKnown, countMissing, findMissing, hidesMissing } from '../../db/queries/runs/records/missing-records.ts';
import { findParents } from '../../db/queries/runs/records/parents.ts';
import { findChangedPartitions } from '../../db/queries/runs/records/partition-changes.ts';
import { findRecordStates } from '../../db/queries/runs/records/record-state.ts';
import { findRequeued } from '../../db/queries/runs/records/requeue.ts';
import { closePartitions, countDimensions } from '../../db/queries/runs/run-dimensions.ts';
import {
  countLoginFailures,
  countReplaced,
  findRuns,
  findWaitingRun,
  isClean,
  readSoFar,
} from '../../db/queries/runs/runs.ts';
import { countAllEndpoints } from '../../db/queries/webhooks/endpoints.ts';
import { findDueEndpoints } from '../../db/queries/webhooks/events.ts';
import {
  claimDue,
  claimOldest,
  claimRequested,
  countPendingMessages,
  readOpenEndpoint,
  reclaimExpired,
} from '../../db/queries/webhooks/queue.ts';
import { recordAttempts } from '../../db/queries/webhooks/record-attempts.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import { createApp } from '../../src/api/app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { serveConsole } from '../../src/console/console.ts';
import { maintain } from '../../src/maintenance/maintenance.ts';
import type { Orchestrator } from '../../src/temporal/orchestrator.ts';
import { openConsole } from '../support/console/console-client.ts';
import { small, unbounded } from '../support/plans/known-queries.ts';
import { fillLargeOrg, growingTables } from '../support/plans/large-org.ts';
import { openRecording, type RecordedPlan, type TableScan } from '../support/plans/plan-recorder.ts';
import { filled, requests } from '../support/plans/requests.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { newCall } from '../support/service/calls.ts';
import { testDatabaseUrl } from '../support/service/database-server.ts';
import { quarantineEntry, receiptOf, takeOptions } from '../support/service/receipts.ts';
import { openFilledOrg } from '../support/sync/filled-org.ts';
import { createHook, sendTo, type TestHook } from '../support/webhooks/hooks.ts';

/** Rows that a statement may meet in a table that grows: a batch of a list, with what lies between. */
const rowsMax = 3000;

/** Rows that a statement may return. */
const batchRows = 1000;

const opened = new AsyncDisposableStack();
let api: TestApi;
let org: TestOrg;
let scope: OrgScope;
let connectionId: string;
let endpointId: string;
let hook: TestHook;
let recording: ReturnType<typeof openRecording>;
let runIds: readonly string[];

beforeAll(async () => {
  api = opened.use(await startApi());
  ({ org, connectionId, endpointId } = await openFilledOrg(api));
  scope = orgScope(org.orgId);
  hook = await createHook(sendTo(api), org, connectionId, { debounceSeconds: 0 });
  const seed = { orgId: org.orgId, connectionId, endpointId, hookId: hook.id };
  ({ runIds } = await fillLargeOrg(api.deps.db, seed));
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(api.deps.db);
  const url = testDatabaseUrl();
  url.pathname = `/${rows[0]?.name}`;
  recording = openRecording(url.href);
  opened.defer(() => recording.db.destroy());
}, 600_000);
afterAll(() => opened.disposeAsync());

/** The table that grows of which a scanned one is a partition, or which it is itself; undefined: it does not grow. */
const growingTable = (table: string): string | undefined =>
  growingTables.find((name) => table === name || /^_(?:default|\d{17})$/.test(table.replace(name, '')));

/** What is wrong with a plan, as lines to read. A list says how long it is, and so it counts. */
function faultsOf({ query, scans, text }: RecordedPlan): readonly string[] {
  if (text.startsWith('select count(*)')) return [];
  const growing = Map.groupBy(scans, ({ table }) => growingTable(table));
  growing.delete(undefined);
  return [...growing].flatMap(([table, parts]) => {
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    if (!parts.some(isSequential) && (rows <= rowsMax || unbounded.has(query))) return [];
    const nodes = [...new Set(parts.map(({ node }) => node))].join(', ');
    return [`${query}: ${nodes} of ${table}, ${rows} rows: ${text.slice(0, 300)}`];
  });
}

/** A table that is empty so far, or whose first rows are enough, is read so too. */
const isSequential = ({ node, rows }: TableScan): boolean => node === 'Seq Scan' && rows > 200;

const expectBounded = (plans: readonly RecordedPlan[]): void => {
  expect(plans).not.toEqual([]);
  expect(plans.flatMap(faultsOf)).toEqual([]);
  // A list is streamed batch by batch, so that its length takes no memory.
  expect(plans.filter(({ returned }) => returned > batchRows)).toEqual([]);
};

/** The plans of what an action executes. */
async function plansOf(act: () => Promise<unknown>): Promise<readonly RecordedPlan[]> {
  const from = recording.plans.length;
  await act();
  return recording.plans.slice(from);
}

/** Sends a request to an API whose statements are recorded. */
function call(method: string, path: string, body: string | null): Promise<Response> {
  const app = createApp({ ...api.deps, db: recording.db }, serveConsole);
  return Promise.resolve(
    app.request(`/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${org.apiKey}` },
      ...(body === null ? {} : { body }),
    }),
  );
}

describe('of an org with 60,000 runs, no statement reads what is old:', () => {
  it.each(requests)('%s %s', async (method, path, body) => {
    const ids = { connection: connectionId, run: runIds.at(-5) ?? '', endpoint: endpointId, hook: hook.id };
    const fill = (text: string) => filled(api.deps.db, text, ids);
    const target = await fill(path);
    const sent = body === null ? null : await fill(JSON.stringify(body));
    const plans = await plansOf(async () => {
      const response = await call(method, target, sent);
      const text = await response.text();
      expect(response.status, text.slice(0, 500)).toBeLessThan(300);
    });
    expectBounded(plans);
  });

  it.each([
    ...['', '/connections', '/connections?health=failing&spec=x', '/connections/:connection'],
    ...['/runs?resource=none', '/quarantine?runId=:run'].map((path) => `/connections/:connection${path}`),
    ...['/record?resource=items&key=r1', '/record?resource=items&key=q70', '/hooks', '/settings'].map(
      (path) => `/connections/:connection${path}`,
    ),
    ...['/find?q=r1', '/find?q=nothing-has-this-name', '/deliveries'],
    ...[
      '/runs?resource=x',
      '/runs?status=canceled&trigger=backfill',
      '/deliveries?outcome=failed&eventType=run.failed',
    ].map((path) => `${path}&from=2020-01-01T00:00&to=2020-01-01T01:00`),
    ...['/runs', '/runs?errorCode=x&from=2020-01-01T00:00&to=2020-01-01T01:00', '/runs/:run'],
    ...[
      '/quarantine',
      '/quarantine?connectionId=:connection',
      '/quarantine?runId=:run',
      '/quarantine?connectionId=:connection&path=email&message=x',
    ],
  ])('the page /console%s', async (path) => {
    const [run] = runIds.slice(-5);
    const plans = await plansOf(async () => {
      const console = await openConsole(
        { app: createApp({ ...api.deps, db: recording.db }, serveConsole) },
        org.apiKey,
      );
      const target = path.replace(':connection', connectionId).replace(':run', run ?? '');
      expect((await console.get(`/console${target}`)).status).toBe(200);
    });
    expectBounded(plans);
  });

  it('a request to a hook, and the run that is created for it', async () => {
    const { db } = recording;
    const asked = { connectionId, resourceKey: 'items' };
    const plans = await plansOf(async () => {
      const app = createApp({ ...api.deps, db }, serveConsole);
      const response = await sendTo({ app })(hook.url, { method: 'POST', body: '{"id":1}' });
      expect(response.status).toBeLessThan(300);
      await dueInMs(db, scope, asked);
      await db.transaction().execute((tx) => dropTriggers(tx, scope, asked, 'of a test'));
      await sendTo({ app })(hook.url, { method: 'POST', body: '{"id":2}' });
      await db.transaction().execute((tx) => joinRun(tx, scope, asked, { runId: runIds.at(-1) ?? '', isNew: true }));
    });
    expectBounded(plans);
  });

  it('a run from its begin to its end', async () => {
    const { db } = recording;
    await call('POST', `/connections/${connectionId}/sync`, '{"resource":"items"}');
    const plans = await plansOf(async () => {
      const waiting = await findWaitingRun(db, scope, { connectionId, resourceKey: 'items' });
      const runId = waiting?.id ?? '';
      expect(await findRunWaits(db, scope, [runId])).toHaveLength(1);
      await markDispatched(db, scope, runId);
      expect((await beginRun(db, scope, runId)).turn).toBe('running');
      const attempt = await takeLane(db, scope, runId, takeOptions());
      if (!attempt) throw new Error('no attempt');
      const owner = { laneId: attempt.laneId, fence: attempt.fence };
      await lastCallSequence(db, scope, runId);
      await insertCalls(db, scope, [newCall({ runId, sequence: 1 })]);
      await findRecordStates(db, scope, { laneId: owner.laneId, externalIds: ['r1', 'r2', 'new'] });
      await findParents(db, scope, {
        connectionId,
        resourceKey: 'items',
        after: 'r1',
        limit: 100,
        changedFor: null,
        isReadWhole: true,
        fields: 'f',
      });
      await findChangedPartitions(db, scope, {
        connectionId,
        laneId: owner.laneId,
        partitions: [{ key: 'r1', parents: [{ resourceKey: 'items', externalId: 'r1' }] }],
      });
      await findRequeued(db, scope, { connectionId, resourceKey: 'items', after: null, limit: 100 });
      await countDimensions(db, scope, runId);
      await recordBatch(db, scope, { owner, receipt: receiptOf(runId, 1) });
      await recordBatch(db, scope, {
        owner,
        receipt: receiptOf(runId, 2, {
          seen: [{ partition: '', externalIds: ['r1', 'r2'] }],
          deleted: ['r3'],
          quarantine: [quarantineEntry({ id: `quar_${runId}`, externalId: 'q1' })],
        }),
      });
      const lane = { laneId: owner.laneId, seq: attempt.seq, confirm: 2, hasGaps: false };
      for (const [isPartitioned, coversAll] of [
        [false, true],
        [true, true],
        [true, false],
      ] as const) {
        const scan = { ...lane, isPartitioned, coversAll, listsAll: true };
        await countMissing(db, scope, scan);
        await findMissing(db, scope, { ...scan, after: null, limit: 100 });
        await hidesMissing(db, scope, scan);
      }
      const listed = { laneId: owner.laneId, seq: lane.seq, coversAll: true, hasGaps: false };
      await findListed(db, scope, { laneId: owner.laneId, partition: '', externalIds: ['a'] });
      await countListed(db, scope, listed);
      await findDue(db, scope, { ...listed, after: null, limit: 100 });
      await countKnown(db, scope, owner.laneId);
      await readSoFar(db, scope, runId);
      await countReplaced(db, scope, lane);
      await isClean(db, scope, runId);
      await noteFailure(db, scope, { runId, code: 'http_500', message: 'of a test' });
      await resetAttempts(db, scope, runId);
      await markAlive(db, scope, runId);
      await findRuns(db, scope, [runId]);
      await closePartitions(db, scope, runId);
      const outcome = { status: 'succeeded', error: null } as const;
      const last = receiptOf(runId, 3, { records: [] });
      expect(await endRun(db, scope, { runId, owner, outcome, last, breaksConnection: false })).toMatchObject({
        ended: true,
      });
      await endRun(db, scope, { runId, owner, outcome, breaksConnection: false });
      await countLoginFailures(db, scope, { connectionId, last: 3 });
    });
    expectBounded(plans);
  });

  it('a firing of a schedule', async () => {
    const { db } = recording;
    const [schedule] = await api.deps.db
      .selectFrom('schedules')
      .select('id')
      .where('connectionId', '=', connectionId)
      .execute();
    const firing = { scheduleId: schedule?.id ?? '', scheduledFor: new Date().toISOString() };
    const plans = await plansOf(() =>
      db.transaction().execute(async (tx) => {
        expect(await lockConnectionOfSchedule(tx, scope, firing.scheduleId)).toMatchObject({ id: connectionId });
        const facts = await findFiringFacts(tx, scope, firing);
        expect(facts).toMatchObject({ runId: null });
        const run = { ...firing, connectionId, resourceKey: 'items', concurrentMax: 9, waitsFor: ['others'] };
        await insertInTurn(tx, scope, { ...run, laneId: facts?.laneId ?? 0 });
      }),
    );
    expectBounded(plans);
  });

  it('deliveries to an endpoint', async () => {
    const { db } = recording;
    const claim = { endpointId, limit: 50, leaseMs: 60_000, leaseToken: 'lease' };
    const plans = await plansOf(async () => {
      await findDueEndpoints(db, scope);
      await readOpenEndpoint(db, scope, endpointId);
      const claimed = [
        ...(await claimRequested(db, scope, claim)),
        ...(await claimDue(db, scope, claim)),
        ...(await claimOldest(db, scope, { claim, probing: false })),
      ];
      expect(claimed.length).toBeGreaterThan(20);
      const results = claimed.map((attempt) => ({
        attempt,
        probe: false,
        secretId: 'whs_1',
        requestHeaders: {},
        outcome: { statusCode: 200, errorCode: null, headers: {}, body: 'ok', durationMs: 5 },
        verdict: { delivered: true, otherwise: 'retry', disables: false, pauseMs: null } as const,
        retryInMs: null,
      }));
      await recordAttempts(db, scope, { endpointId, leaseToken: 'lease', results, retryWindowMs: 1000 });
      await reclaimExpired(db, scope, endpointId);
    });
    expectBounded(plans);
  });

  it('what an operator asks after a restore', async () => {
    const { db } = recording;
    const plans = await plansOf(async () => {
      await findOpenRuns(db);
      await findUsedLanes(db, { after: 0, limit: 500 });
      await findLastBatch(db, scope, runIds.at(-1) ?? '');
      await countPendingMessages(db);
    });
    expectBounded(plans);
  });

  it('a scrape of the metrics', async () => {
    const { db } = recording;
    const reads = [readBacklog, findLastDispatched, countAllConnections, countAllEndpoints, readDatabaseBytes];
    expectBounded(await plansOf(() => Promise.all(reads.map((read) => read(db)))));
  });

  it('a round of the background work', async () => {
    const stopping = new AbortController();
    const warnings: unknown[] = [];
    const log = { ...api.deps.log, warn: (...line: unknown[]) => void warnings.push(line) };
    const plans = await plansOf(async () => {
      const config = loadConfig({});
      const deps = { ...api.deps, config, db: recording.db, orchestrator: quietOrchestrator, log };
      const round = maintain(deps, stopping.signal);
      stopping.abort();
      await round;
    });
    expect(warnings).toMatchObject([['Temporal schedules differed from their rows and were corrected', {}]]);
    expectBounded(plans);
  });

  it('and every file of queries is among them, or its tables do not grow', () => {
    const folder = join(import.meta.dirname, '../../db/queries');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => file.replace(/\.ts$/, ''));
    const seen = new Set(recording.plans.flatMap((plan) => plan.files));
    expect(files.filter((file) => !seen.has(file) && !small.has(file))).toEqual([]);
    expect([...small.keys()].filter((file) => !files.includes(file))).toEqual([]);
    const queries = new Set(recording.plans.map(({ query }) => query));
    expect([...unbounded.keys()].filter((query) => !queries.has(query))).toEqual([]);
  });
});

/** Temporal as it is when nothing is to be done there: every workflow is open, and no schedule is known. */
const quietOrchestrator = new Proxy({} as Orchestrator, {
  get: (_, name) => async () => (name === 'describeRun' ? 'open' : []),
});
