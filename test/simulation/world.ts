/** One simulation: its parties, what happens to them, and what must hold. */

import { orgScope } from '../../db/scope.ts';
import { createSecretBox } from '../../src/core/crypto/secret-box.ts';
import { withCompiledExpressions } from '../../src/core/expressions/compiled-evaluator.ts';
import { createDecodeQueue } from '../../src/core/source/decode/decode-turns.ts';
import type { Deps } from '../../src/deps.ts';
import type { Log } from '../../src/log.ts';
import { createApi } from './api.ts';
import { begin } from './current.ts';
import { createDatabase } from './destination.ts';
import { type Counts, count, createEffects, type Route } from './effects.ts';
import { createInvariantCheck } from './invariants.ts';
import { ControlState, type StoredRun } from './memory/store/control-state.ts';
import { asDb, type MemoryDb } from './memory/store/memory-db.ts';
import { seedOrg } from './memory/store/seed-org.ts';
import { orchestratorOf } from './orchestrator.ts';
import { createRandom } from './random.ts';
import { createReceiver } from './receiver.ts';
import { createScheduler, type Planned, type SimProcess } from './scheduler.ts';
import { groups, resourceKeys, specsOf, versions } from './specs.ts';
import { createTemporalServer, type TemporalServer } from './temporal-server.ts';
import type { SimWorker } from './temporal-tasks.ts';
import { createUsers } from './users.ts';
import { createWorkers } from './workers.ts';

/** The outcome of a seed. */
export interface Report {
  readonly seed: number;
  /** What must never happen and did; empty: all holds. */
  readonly violations: readonly string[];
  readonly counts: Counts;
  readonly events: number;
}

interface WorldOptions {
  /** Takes a line for each event that a reader of a failing seed wants to see; null: nobody reads. */
  readonly trace: ((line: string) => void) | null;
}

/** Events after which a seed counts as endless. */
const eventsMax = 200_000;
/** Virtual time in which every run ends once nothing goes wrong any more, ms. */
const calmMsMax = 30 * 60_000;

/** Runs one seed. */
export async function simulate(seed: number, { trace }: WorldOptions): Promise<Report> {
  const world = createWorld(seed, trace);
  const { scheduler, violations, counts } = world;
  let events = 0;
  try {
    events += await scheduler.run(() => world.isCalm() && world.isIdle(), eventsMax);
    world.activate();
    events += await scheduler.run(() => world.isIdle(), eventsMax);
    world.requestLast();
    events += await scheduler.run(() => world.isIdle(), eventsMax);
    world.requestPending();
    events += await scheduler.run(() => world.isIdle(), eventsMax);
    violations.push(...world.checkEnd());
    world.requestOnceMore();
    events += await scheduler.run(() => world.isIdle(), eventsMax);
    violations.push(...world.checkQuiet());
  } catch (error) {
    violations.push(error instanceof Error ? error.message : String(error));
  }
  return { seed, violations, counts, events };
}

function createWorld(seed: number, trace: WorldOptions['trace']) {
  const random = createRandom(seed);
  const scheduler = createScheduler(random);
  const counts: Counts = new Map();
  const violations: string[] = [];
  const workers: SimWorker[] = [];
  const say = (line: string): void => trace?.(`${new Date(scheduler.now()).toISOString().slice(11, 23)} ${line}`);
  let calmAt = Number.POSITIVE_INFINITY;
  const isCalm = () => scheduler.now() >= calmAt;
  const atAwait = (process: SimProcess): void => {
    const worker = workers.find((one) => one.process === process);
    if (!worker || isCalm() || scheduler.now() < process.frozenUntil) return;
    if (random.chance(killsPerAwait)) crew.kill(worker);
    else if (random.chance(freezesPerAwait)) crew.freeze(worker);
  };
  const effect = createEffects({ scheduler, counts, isCalm, say, atAwait });

  const api = createApi({ scheduler, effect, counts, isCalm });
  // A rewind forgets the fingerprints, and a record that it does not reach is delivered whenever it is read.
  const mayRepeat = (runId: string): boolean =>
    state.runs.where((run) => run.laneId === state.runs.get(runId)?.laneId).some(isBegunRewind);
  const database = createDatabase(effect, counts, mayRepeat);
  // Every other seed delivers to a webhook.
  const receiver = seed % 2 === 0 ? createReceiver({ scheduler, effect, counts, isCalm, say }) : null;
  const invariants = createInvariantCheck(api, counts, (resourceKey) =>
    receiver ? receiver.laneOf(resourceKey) : database.deliveredOf(`${connectionId}/${resourceKey}`),
  );
  const state = new ControlState(() => scheduler.now());
  const specs = specsOf({
    order: random.pick(['asc', 'none'] as const),
    settle: random.pick(['PT0S', 'PT30S'] as const),
    changes: random.pick(['cursor', 'numbered', 'windows'] as const),
    window: random.pick(['P1D', 'P7D'] as const),
    report: random.pick(['parts', 'counted', 'bare'] as const),
    cache: random.pick(['conditional', 'none'] as const),
  });
  begin({
    ...{ scheduler, api, database, receiver, specs, ids: { next: () => state.nextNo() } },
    get server() {
      return server;
    },
    evaluator: withCompiledExpressions(noOtherEvaluator).forOrg('org'),
  });
  const documents = Object.fromEntries(versions.map((version) => [version, { metadata: { version } }]));
  const { orgId, connectionId } = seedOrg(state, documents, { groups: [...groups] });
  const scope = orgScope(orgId);

  const db: MemoryDb = {
    transact: (name, work) =>
      effect(transaction, () => {
        const commit = () => state.atomically(work);
        const result = name === 'recordCarried' ? invariants.carrying(state, commit) : commit();
        say(`${name} ${trace ? JSON.stringify(result)?.slice(0, 160) : ''}`);
        if (checkedAfter.has(name)) report(invariants.now(state));
        return result;
      }),
  };
  const report = (found: readonly string[]): void => {
    for (const line of found) say(`VIOLATION ${line}`);
    violations.push(...found.filter((line) => !violations.includes(line)));
  };

  const server: TemporalServer = createTemporalServer({ scheduler, counts, effect, isCalm, workers: () => workers });
  const deps = {
    db: asDb(db),
    log: logTo(say),
    orchestrator: orchestratorOf(server, effect),
    config: { recordBytesMax: 1_000_000 },
    evaluators: withCompiledExpressions(noOtherEvaluator),
    decodeQueue: createDecodeQueue(Number.POSITIVE_INFINITY),
    egress: null,
    secretBox: createSecretBox([{ id: 'simulated', key: new Uint8Array(32) }]),
  } as unknown as Deps;

  const crew = createWorkers({ deps, scheduler, random, counts, say, workers });

  const openRuns = () => state.runs.where(({ finishedAt }) => finishedAt === null);

  const users = createUsers({
    ...{ deps, scope, connectionId, specs, openRuns, scheduler, random, counts, say },
  });

  const acts: Readonly<Record<string, () => void>> = {
    shutDown: crew.shutDown,
    change: () => api.change(),
    cancel: users.cancel,
    pause: users.pause,
    upgrade: users.upgrade,
    requeue: users.requeue,
    regroup: users.regroup,
    backfill: users.backfill,
    lose() {
      const ids = server.openIds();
      if (ids.length === 0) return;
      count(counts, 'workflows lost');
      server.lose(random.pick(ids));
      say('a workflow is lost');
    },
    jump() {
      count(counts, 'clock jumps');
      scheduler.jump(random.between(1000, 40_000));
    },
    restore() {
      if (receiver) return;
      const resourceKey = random.pick(resourceKeys);
      const putBack = database.copy(`${connectionId}/${resourceKey}`);
      scheduler.after(random.between(1000, 15_000), () => {
        if (!putBack()) return;
        say(`the table of ${resourceKey} is restored`);
        restored.add(resourceKey);
        users.rewind(resourceKey);
      });
    },
    drop() {
      const resourceKey = random.pick(resourceKeys);
      say(`the ${receiver ? 'receiver' : 'table'} of ${resourceKey} is ${receiver ? 'replaced' : 'dropped'}`);
      if (receiver) receiver.move(resourceKey);
      else database.drop(`${connectionId}/${resourceKey}`);
    },
  };
  /** Resources whose tables were restored: a rewind may be canceled, so the last ones come at the end. */
  const restored = new Set<string>();
  const chaosMs = random.between(3000, 40_000);
  const plan = (name: string, times: number): void => {
    for (let time = 0; time < times; time += 1) scheduler.after(random.between(0, chaosMs), () => acts[name]?.());
  };
  crew.start();
  crew.start();
  for (const [name, most] of Object.entries(often)) plan(name, random.between(0, most));
  for (const [name, probability] of Object.entries(rarely)) plan(name, random.chance(probability) ? 1 : 0);
  plan('change', random.between(0, 150));
  for (const resourceKey of resourceKeys) {
    const syncs = random.between(1, 6);
    for (let no = 0; no < syncs; no += 1)
      scheduler.after(random.between(0, chaosMs), () => users.requestSync(resourceKey));
  }
  scheduler.after(chaosMs, () => {
    calmAt = scheduler.now();
    say('calm');
    for (const { process } of workers) process.frozenUntil = 0;
    expectEnd();
  });
  let deadline: Planned | null = null;
  /** From here on nothing goes wrong, so every run ends. */
  const expectEnd = (): void => {
    deadline?.cancel();
    deadline = scheduler.after(calmMsMax, () => {
      throw new Error(`Not ended after ${calmMsMax / 60_000} quiet minutes: ${JSON.stringify(openRuns()[0])}`);
    });
  };

  const lastRunOf = (key: string) => state.runs.where((run) => run.resourceKey === key).at(-1);
  const syncAll = (): void => resourceKeys.forEach(users.requestSync);
  return {
    ...{ scheduler, counts, violations, isCalm },
    isIdle: () => !users.isAsking() && openRuns().length === 0 && server.openIds().length === 0,
    activate: () => {
      users.activate();
      users.wantGroups(groups);
    },
    requestLast: () => {
      // A destination that has lost its rows is noticed after a day at the latest.
      scheduler.jump(25 * 3_600_000);
      expectEnd();
      for (const resourceKey of restored) users.rewind(resourceKey);
      syncAll();
    },
    /** What a list has named of records that were just read, the next run decides. */
    requestPending: () => {
      expectEnd();
      resourceKeys.filter((key) => lastRunOf(key)?.notes.deletes_pending).forEach(users.requestSync);
    },
    requestOnceMore: () => {
      expectEnd();
      syncAll();
    },
    /** Everything has converged, so one more run of each resource brings nothing. */
    checkQuiet: (): readonly string[] =>
      resourceKeys.flatMap((resourceKey) => {
        const last = lastRunOf(resourceKey);
        const brings = last ? last.recordsOut + last.deleted : 0;
        return last?.status === 'succeeded' && brings === 0
          ? []
          : [`one more run of ${resourceKey} is ${last?.status} and brings ${brings}: ${last?.errorMessage}`];
      }),
    checkEnd(): readonly string[] {
      const failed = resourceKeys.flatMap((resourceKey) => {
        const last = lastRunOf(resourceKey);
        return last?.status === 'succeeded' || last?.status === 'partial'
          ? []
          : [`the last run of ${resourceKey} is ${last?.status}: ${last?.errorMessage}`];
      });
      return [
        ...database.violations,
        ...(receiver?.violations ?? []),
        ...failed,
        ...invariants.now(state),
        ...invariants.atEnd(state),
      ];
    },
  };
}

const isBegunRewind = ({ backfill, startedAt }: StoredRun): boolean => backfill?.rewind === true && startedAt !== null;

/** Probability that a worker dies, or freezes, between a request and its response. */
const killsPerAwait = 0.004;
const freezesPerAwait = 0.003;
/** At most so many of each in a seed. */
const often = { cancel: 2, requeue: 2, regroup: 2, jump: 1, restore: 2, backfill: 2 } as const;
/** Once, with this probability. */
const rarely = { shutDown: 0.3, pause: 0.3, upgrade: 0.3, lose: 0.3, drop: 0.1 } as const;

/** After these transactions the invariants are checked. */
const checkedAfter: ReadonlySet<string> = new Set(['recordBatch', 'recordCarried', 'beginRun', 'endRun']);

const transaction: Route = {
  name: 'transaction',
  faults: 0.01,
  latencyMs: [0, 6],
  slow: [0.005, 9000],
  failure: () => new Error('Connection terminated unexpectedly'),
  isQuiet: true,
};

/** The specs of the simulation need no evaluator but the compiled one. */
const noOtherEvaluator = {
  forOrg: () => ({
    transform: () => Promise.reject(new Error('The expression is not compiled')),
    evaluate: () => Promise.reject(new Error('The expression is not compiled')),
  }),
  [Symbol.asyncDispose]: async () => {},
} as unknown as Deps['evaluators'];

function logTo(say: (line: string) => void): Log {
  const line = (message: string, fields?: object): void => {
    const error = fields && 'error' in fields ? String(fields.error) : '';
    say(`log: ${message} ${error}`);
  };
  const log: Log = { trace: line, debug: line, info: line, warn: line, error: line, child: () => log };
  return log;
}
