/**
 * What a control plane does all day: thousands of connections with little new. `npm start` on data of its own; each run
 * reads one page of 10 records that the destination has. Beside it, on the same Temporal server in the same minute, the
 * floor: a workflow of one empty activity in a worker of its own. Needs Linux.
 *
 * MANY_RUNS (400), MANY_FIRINGS (6) and MANY_ROUNDS (3) are settings. In two minutes, without the long ones:
 *
 *     MANY_ROUNDS=1 npm run bench -- many -t "quiet"
 *     npm run bench -- many -t "1,000 schedules"
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../test/support/service/eventually.ts';
import { temporalScheduleId } from '../workflows/contract.ts';
import { type ManyConnection, type ManyOrg, openOrg, recordsOfPage } from './many/connections.ts';
import { type ControlPlane, startControlPlane } from './many/control-plane.ts';
import { oneBehindMany } from './many/fairness.ts';
import { collectKinds } from './many/figures-table.ts';
import { type FiringFigures, type Firings, firingFigures, nextMultiple, scheduleAll, until } from './many/firings.ts';
import { floorP95, scheduleFloor } from './many/floor-firings.ts';
import {
  everyMs,
  goalsOf,
  manual,
  oneActivity,
  oneLocalActivity,
  scheduled,
  scheduledFloor,
  scheduledNet,
} from './many/goals.ts';
import { scheduleEvents, temporalFigures } from './many/histories.ts';
import { type Measured, perRun, without } from './many/per-run.ts';
import { quietRuns } from './many/quiet-runs.ts';
import { countLogins, type DatabaseFigures, databaseFigures } from './many/statements.ts';
import type { FloorJobs } from './processes/floor-worker.ts';
import type { UpstreamJobs } from './processes/upstream.ts';
import { percentile, rounded, setting } from './support/figures.ts';
import { type Partner, startPartner } from './support/partner.ts';
import { type Goal, goalRows } from './support/results.ts';

const runs = setting('MANY_RUNS', 400);
const firings = setting('MANY_FIRINGS', 6);
const rounds = Array.from({ length: setting('MANY_ROUNDS', 3) }, (_unused, index) => index + 1);
const atOnce = 16;
/** Orgs, as each has a limit of runs at once, and the connections of each. */
const [orgCount, connectionsOfOrg] = [6, 10];
const loginRuns = 240;
const floorQueue = 'bench-floor';
/** Runs that one org queues, each of a connection of its own, or ten of each connection where the API never responds. */
const [flood, connectionsOfFlood, silentConnections] = [200, 200, 20];

const started = new AsyncDisposableStack();
const kinds = collectKinds((line) => void process.stdout.write(`${line}\n`));
const goals: Goal[] = [];
const fired: FiringFigures[] = [];
let plane: ControlPlane;
let upstream: Partner<UpstreamJobs>;
let floor: Partner<FloorJobs>;
let orgs: readonly ManyOrg[];
/** One of each org in turn. */
let connections: readonly ManyConnection[];
let baseUrl: string;
let silentUrl: string;

beforeAll(async () => {
  upstream = started.use(startPartner<UpstreamJobs>('upstream'));
  floor = started.use(startPartner<FloorJobs>('floor-worker'));
  const hostPort = await upstream.ask('listen');
  await upstream.ask('begin', { records: recordsOfPage });
  baseUrl = `http://${hostPort}`;
  // It takes requests and never responds.
  const silent = createServer((socket) => void socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  started.defer(() => void silent.close());
  await once(silent, 'listening');
  const silentHost = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  silentUrl = `http://${silentHost}`;
  plane = started.use(await startControlPlane([hostPort, silentHost]));
  await floor.ask('start', { address: plane.temporalAddress, taskQueue: floorQueue });
  const opened: ManyOrg[] = [];
  for (let n = 0; n < orgCount; n += 1) opened.push(started.use(await openOrg(plane)));
  orgs = opened;
  connections = await connectInTurn(connectionsOfOrg);
  // The first run of each makes its table; the second finds nothing new, and compiles what is hot.
  await quietRuns(plane, { connections, count: 2 * connections.length, atOnce });
}, 300_000);

afterAll(async () => {
  process.stdout.write('\n');
  console.table(kinds.table(oneActivity));
  console.table(goalRows([...goalsOf(kinds, fired), ...goals]));
  await started.disposeAsync();
}, 60_000);

/** So many connections of each org, in turn, so that no org waits for its own limit. */
async function connectInTurn(count: number): Promise<readonly ManyConnection[]> {
  const made = await Promise.all(orgs.map((org) => org.connect(count, baseUrl)));
  return Array.from({ length: count }, (_unused, n) => made.flatMap((of) => of[n] ?? [])).flat();
}

it.each(rounds)('quiet runs beside the floor, round %d', async () => {
  await expectFloor(oneActivity, 'oneActivity');
  await expectFloor(oneLocalActivity, 'oneLocalActivity');
  await expectManual();
  await expectFloorFirings();
  await expectScheduled();
});

async function expectFloor(kind: string, type: string): Promise<void> {
  const count = runs;
  const work = async (): Promise<number> => {
    let asked = 0;
    const askInTurn = async (): Promise<void> => {
      while (asked < count) {
        asked += 1;
        const workflowId = `floor:${crypto.randomUUID()}`;
        await plane.temporal.workflow.execute(type, { workflowId, taskQueue: floorQueue });
      }
    };
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: atOnce }, askInTurn));
    return (performance.now() - startedAt) / 1000;
  };
  const { cpu, noise, result: seconds } = await perRun({ ...plane.pids, worker: floor.pid }, count, work);
  kinds.add(kind, { cpu, noise, rate: count / seconds });
}

async function expectManual(): Promise<void> {
  const work = () => quietRuns(plane, { connections, count: runs, atOnce });
  const { cpu, noise, result } = await perRun(plane.pids, runs, work);
  kinds.add(manual, {
    ...{ cpu, noise },
    rate: runs / result.seconds,
    p95: percentile(result.latencies, 0.95) / 1000,
  });
}

/**
 * What the firings take of these processes, from the second one on. The first one after the last schedule was made is
 * for warming up.
 */
async function fire(pids: ControlPlane['pids']): Promise<Measured<void> & { readonly due: Firings }> {
  const due = { schedules: connections.length, firstMs: nextMultiple(everyMs) + everyMs, everyMs, count: firings };
  await until(due.firstMs - 500);
  const endMs = due.firstMs + firings * everyMs - 500;
  return { due, ...(await perRun(pids, due.schedules * firings, () => until(endMs))) };
}

async function expectFloorFirings(): Promise<void> {
  const removeAll = await scheduleFloor(plane.temporal, {
    schedules: connections.length,
    everyMs,
    taskQueue: floorQueue,
  });
  const { due, cpu, noise } = await fire({ ...plane.pids, worker: floor.pid });
  kinds.add(scheduledFloor, { cpu, noise, p95: await floorP95(plane.temporal, due) });
  await removeAll();
}

async function expectScheduled(): Promise<void> {
  const { cpu: resting } = await perRun(plane.pids, 5, () => sleep(5000));
  const removeAll = await scheduleAll(connections, () => `*/${everyMs / 1000} * * * * *`);
  const { due, cpu, noise } = await fire(plane.pids);
  const figures = await firingFigures(plane.watcher, due);
  await removeAll();
  const perSecond = due.schedules / (everyMs / 1000);
  kinds.add(scheduled, { cpu, noise, p95: figures.p95, rate: perSecond });
  kinds.add(scheduledNet, { cpu: without(cpu, resting, 1 / perSecond), noise });
  kinds.add('at rest, for a second', { cpu: resting, noise });
  fired.push(figures);
  expect(figures.due).toBe(due.schedules * due.count);
}

it('what quiet runs ask of the databases', async () => {
  const databases = orgs.map(({ destination }) => destination.url.split('/').at(-1) ?? '');
  const loginsBefore = await countLogins(databases);
  const work = () => quietRuns(plane, { connections, count: loginRuns, atOnce });
  expectAsked('a quiet run', await databaseFigures(plane.watcher, loginRuns, work));
  goals.push({
    what: `logins at the destination in ${loginRuns} quiet runs`,
    result: (await countLogins(databases)) - loginsBefore,
    unit: '',
    atMost: 0,
  });
});

it('what quiet runs of schedules ask of the database', async () => {
  // They fire in the first third of a minute; in the rest the schedules are made, and a service at rest is looked at.
  await until(nextMultiple(60_000) + 22_000);
  const removeAll = await scheduleAll(connections, (place) => `${place % 20} * * * * *`);
  const work = () => until(nextMultiple(60_000) + 22_000);
  expectAsked('a quiet run of a schedule', await databaseFigures(plane.watcher, connections.length, work));
  await removeAll();
}, 180_000);

/** Shows what each run asked of the control database; it did ask something. */
function expectAsked(what: string, { statements, tables }: DatabaseFigures): void {
  const sum = (of: (statement: (typeof statements)[number]) => number) =>
    statements.reduce((total, statement) => total + of(statement), 0);
  process.stdout.write('\n');
  console.table(
    statements
      .toSorted((a, b) => b.calls - a.calls)
      .map(({ query, calls, walBytes }) => ({
        [`statement of ${what}`]: query.replaceAll(/\s+/g, ' ').slice(0, 110),
        calls: rounded(calls),
        'log, bytes': rounded(walBytes, 0),
      })),
  );
  console.table(
    tables.map(({ table, inserted, updated, deleted, bytesOfRow }) => ({
      [`rows of ${what}`]: table,
      inserted: rounded(inserted),
      updated: rounded(updated),
      deleted: rounded(deleted),
      'bytes each': rounded(bytesOfRow, 0),
    })),
  );
  goals.push(
    { what: `statements of ${what}`, result: sum(({ calls }) => calls), unit: '' },
    { what: `bytes of the write-ahead log of ${what}`, result: sum(({ walBytes }) => walBytes), unit: '' },
    {
      what: `rows written by ${what}`,
      result: tables.reduce((total, { inserted, updated, deleted }) => total + inserted + updated + deleted, 0),
      unit: '',
    },
  );
  expect(statements.length).toBeGreaterThan(0);
}

it('what quiet runs ask of Temporal', async () => {
  const [first, second] = connections;
  if (!first || !second) throw new Error('There are connections');
  const spans: Record<string, { readonly connection: ManyConnection; readonly from: number; readonly to: number }> = {};
  const manualAt = Date.now();
  await quietRuns(plane, { connections: [first], count: 1, atOnce: 1 });
  spans['manual'] = { connection: first, from: manualAt, to: Date.now() };
  const removeAll = await scheduleAll([first, second], () => `*/${everyMs / 1000} * * * * *`);
  const firingMs = nextMultiple(everyMs) + everyMs;
  await until(firingMs - everyMs / 2);
  // The row alone, so that Temporal's schedule still fires.
  await sql`update connections set status = 'paused' where id = ${second.id}`.execute(plane.db);
  const span = { from: firingMs - 500, to: firingMs + everyMs - 500 };
  spans['scheduled'] = { connection: first, ...span };
  spans['refused: connection paused'] = { connection: second, ...span };
  await until(span.to);
  const { rows } = await plane.watcher.query<{ readonly id: string }>(
    'select id from schedules where connection_id = $1 and deleted_at is null',
    [first.id],
  );
  const ofSchedule = await scheduleEvents(plane.temporal, temporalScheduleId(rows[0]?.id ?? ''), span).catch(
    () => Number.NaN,
  );
  await sql`update connections set status = 'active' where id = ${second.id}`.execute(plane.db);
  await removeAll();
  const table = [];
  for (const [what, { connection, from, to }] of Object.entries(spans)) {
    const figures = await eventually(`${what}: the workflows are listed`, async () => {
      const found = await temporalFigures(plane.temporal, connection.id, { from, to });
      return found.workflows > 0 && found;
    });
    const { types, ...counts } = figures;
    table.push({ what, ...counts, 'events of the schedule': what === 'manual' ? 0 : ofSchedule });
    process.stdout.write(`${what}: ${JSON.stringify(types)}\n`);
  }
  console.table(table);
  expect(table).toHaveLength(3);
});

it('one org queues 200 runs, another then one', async () => {
  await using flooding = await openOrg(plane);
  await using waiting = await openOrg(plane);
  const many = await flooding.connect(connectionsOfFlood, baseUrl);
  const [one] = await waiting.connect(1, baseUrl);
  if (!one) throw new Error('There is a connection');
  await quietRuns(plane, { connections: [...many, one], count: many.length + 1, atOnce });
  const quick = await oneBehindMany(plane, { many, runs: flood, one });
  await eventually('the queue is empty', () => isQueueEmpty(flooding.orgId), { timeoutMs: 120_000 });
  const hanging = await flooding.connect(silentConnections, silentUrl);
  const behindHanging = await oneBehindMany(plane, { many: hanging, runs: flood, one });
  goals.push(
    { what: `of ${flood} runs of another org, ended before the one`, result: quick.before, unit: 'runs', atMost: 20 },
    { what: 'the one behind them, from its request to its end', result: quick.seconds, unit: 's' },
    { what: 'the same while their API never responds', result: behindHanging.seconds, unit: 's' },
  );
  expect(behindHanging.before).toBe(0);
});

async function isQueueEmpty(orgId: string): Promise<boolean> {
  const { rows } = await sql`select from runs where org_id = ${orgId} and finished_at is null limit 1`.execute(
    plane.db,
  );
  return rows.length === 0;
}

it('1,000 schedules, every minute for five, spread over its seconds', async () => {
  const many = await connectInTurn(Math.ceil(1000 / orgCount));
  const all = many.slice(0, 1000);
  await quietRuns(plane, { connections: all, count: all.length, atOnce });
  // In the same second, a thousand empty workflows would take this machine half a minute.
  const removeAll = await scheduleAll(all, (place) => `${place % 60} * * * * *`);
  const minute = { schedules: all.length, firstMs: nextMultiple(60_000) + 90_000, everyMs: 60_000, count: 5 };
  await until(minute.firstMs + 5 * 60_000 - 1000);
  const { ended, due, lost, doubled, p95 } = await firingFigures(plane.watcher, minute);
  await removeAll();
  goals.push(
    { what: `1,000 schedules: runs of ${due} that ended within the minute`, result: ended, unit: 'runs', atLeast: due },
    { what: '1,000 schedules: firings lost or doubled', result: lost + doubled, unit: '', atMost: 0 },
    { what: '1,000 schedules: from a firing to the end of its run, p95', result: p95, unit: 's', atMost: 5 },
  );
  expect(due).toBe(5000);
}, 900_000);
