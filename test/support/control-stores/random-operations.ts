import type { NewCall } from '../../../db/queries/runs/calls.ts';
import type { RunOutcome } from '../../../db/queries/runs/lanes.ts';
import type { SpecUpgrade } from '../../../src/core/resources/spec.ts';
import type { Tenant } from './control-store.ts';
import type { Dice } from './dice.ts';
import {
  type Made,
  type Maker,
  type Side,
  someAttempt,
  someReceipt,
  someRun,
  type WeightedMaker,
} from './random-choices.ts';
import { outboxMakers } from './random-outbox.ts';
import { listPosition, recordIds } from './random-receipts.ts';

/** One step of a sequence. */
export interface Operation {
  readonly name: string;
  readonly run: (side: Side) => Promise<unknown>;
}

const outcomes: readonly RunOutcome[] = [
  { status: 'succeeded', error: null },
  { status: 'succeeded', error: null },
  { status: 'partial', error: null },
  { status: 'canceled', error: null },
  { status: 'failed', error: { code: 'destination_login', message: 'refused \0' } },
  { status: 'failed', error: { code: 'auth_failed', message: 'refused' } },
];

const plan = (dice: Dice): SpecUpgrade['plan'] => ({
  class: 'compatible',
  ...{ changed: [], backfillRecommended: false, issues: [] },
  resources: ['a', 'b'].map((resourceKey) => ({
    resourceKey,
    class: dice.pick(['compatible', 'resets', 'breaking'] as const),
    resets: dice.pick(['nothing', 'watermark', 'state'] as const),
    ...{ changed: [], redelivers: 'nothing', backfillRecommended: false, rekeyedTable: null, effect: '' },
  })),
});

const call = (runId: string, sequence: number): NewCall => ({
  ...{ runId, sequence, method: 'GET', url: 'https://api.test/', statusCode: 200, durationMs: 3, attempt: 1 },
  ...{ cacheHit: false, reqHeadersRedacted: {}, reqBodyRedacted: null, respHeaders: {}, respBodyTruncated: null },
  errorCode: null,
});

const withRun =
  (run: (tenant: Tenant, runId: string) => Promise<unknown>): Maker =>
  (dice, made) => {
    const runOf = someRun(dice, made);
    return (side) => run(side.tenant, runOf(side));
  };

const withTenant =
  (run: (tenant: Tenant) => Promise<unknown>): Maker =>
  () =>
  ({ tenant }) =>
    run(tenant);

/** Sets the lane back as the run begins. */
const someRewind = (dice: Dice) => ({ from: dice.pick(['1', '3', null]), force: true, rewind: true }) as const;

const makers: Readonly<Record<string, WeightedMaker>> = {
  insertRun: {
    weight: 8,
    make(dice) {
      const run = {
        resourceKey: dice.pick(['a', 'a', 'b']),
        trigger: dice.pick(['manual', 'schedule', 'webhook', 'backfill'] as const),
        concurrentMax: dice.pick([1, 2]),
        waitsFor: dice.chance(0.2) ? ['b'] : [],
        backfill: dice.chance(0.2) ? { from: '3', force: true } : dice.chance(0.2) ? someRewind(dice) : null,
      };
      return async ({ tenant: { queries, db, scope, connectionId }, runs }) => {
        const made = await queries.insertRun(db, scope, { connectionId, ...run });
        runs.push(made.id);
        return made;
      };
    },
  },
  beginRun: { weight: 16, make: withRun(({ queries, db, scope }, id) => queries.beginRun(db, scope, id)) },
  takeLane: {
    weight: 16,
    make(dice, made) {
      const runOf = someRun(dice, made);
      const scheduledAtMs = made.beganMs + dice.pick([-9000, -3000, 0, 0, 0, 0, 2_000_000_000]);
      return async (side) => {
        const { queries, db, scope } = side.tenant;
        const attempt = await queries.takeLane(db, scope, runOf(side), { scheduledAtMs });
        if (attempt) side.attempts.push(attempt);
        return attempt;
      };
    },
  },
  recordBatch: {
    weight: 32,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      const receipt = someReceipt(dice, made, chosen);
      return (side) => {
        const { queries, db, scope } = side.tenant;
        return queries.recordBatch(db, scope, { owner: chosen.owner(side), receipt: receipt(side) });
      };
    },
  },
  recordCarried: {
    weight: 6,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      const [receipt, runOf] = [someReceipt(dice, made, someAttempt(dice, made)), someRun(dice, made)];
      return (side) => {
        const { queries, db, scope } = side.tenant;
        const owner = chosen.owner(side);
        return queries.recordCarried(db, scope, { owner, receipt: receipt(side), runId: runOf(side) });
      };
    },
  },
  passOver: {
    weight: 4,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      const batchNo = dice.pick([1, 2, 4]);
      return (side) => {
        const { queries, db, scope } = side.tenant;
        return queries.passOver(db, scope, { owner: chosen.owner(side), runId: chosen.runId(side), batchNo });
      };
    },
  },
  findDeleted: {
    weight: 4,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      const page = { after: dice.pick([null, 'r1']), limit: dice.pick([1, 10]) };
      return (side) => {
        const { queries, db, scope } = side.tenant;
        return queries.findDeleted(db, scope, { laneId: chosen.owner(side).laneId, ...page });
      };
    },
  },
  forgetLane: {
    weight: 6,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      return (side) => {
        const { queries, db, scope } = side.tenant;
        return queries.forgetLane(db, scope, { ...chosen.owner(side), runId: chosen.runId(side) });
      };
    },
  },
  endRun: {
    weight: 8,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      const [outcome, owned, breaksConnection] = [dice.pick(outcomes), dice.chance(0.5), dice.chance(0.2)];
      return (side) => {
        const { queries, db, scope } = side.tenant;
        const owner = owned ? chosen.owner(side) : null;
        return queries.endRun(db, scope, { runId: chosen.runId(side), outcome, owner, breaksConnection });
      };
    },
  },
  lists: {
    weight: 6,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      const [dimension, clears] = [dice.pick([-1, 0, 0, 1, 1]), dice.chance(0.15)];
      const values = dice.some(['x', 'y', 'z'], 'with repeats').map((key) => ({ key, value: { of: key } }));
      return (side) => {
        const { queries, db, scope } = side.tenant;
        const part = { runId: chosen.runId(side), owner: chosen.owner(side), dimension };
        if (clears) return queries.clearDimension(db, scope, part);
        return queries.addToDimension(db, scope, { ...part, values, position: listPosition(dimension) });
      };
    },
  },
  readLists: {
    weight: 2,
    make: withRun(async ({ queries, db, scope }, runId) => {
      const counts = await queries.countDimensions(db, scope, runId);
      const lists = counts.toSorted((a, b) => a.dimension - b.dimension);
      const page = { runId, lists, from: 1, limit: 5 };
      const value = await queries.findDimensionValue(db, scope, { runId, dimension: 0, no: 1 });
      // Without a list there is nothing to combine.
      return { lists, value, combined: lists.length > 0 && (await queries.findCombinations(db, scope, page)) };
    }),
  },
  missing: {
    weight: 3,
    make(dice, made) {
      const [chosen, partition] = [someAttempt(dice, made), dice.pick([null, '', 'p1'])];
      return async (side) => {
        const { queries, db, scope } = side.tenant;
        const { laneId, seq } = chosen.attempt(side);
        const states = await queries.findRecordStates(db, scope, { laneId, externalIds: recordIds });
        return {
          counts: await queries.countMissing(db, scope, { laneId, seq, partition }),
          missing: await queries.findMissing(db, scope, { laneId, seq, partition, limit: 3 }),
          states: states.toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1)),
          partition: await queries.findPartition(db, scope, { laneId, partition: partition ?? 'p2' }),
        };
      };
    },
  },
  requeueOne: {
    weight: 2,
    make(dice, { quarantineIds }) {
      const id = quarantineIds.length > 0 ? dice.pick(quarantineIds) : 'quar_none';
      return ({ tenant: { queries, db, scope } }) => queries.requeueOne(db, scope, id);
    },
  },
  requeueAll: {
    weight: 1,
    make(dice) {
      const resourceKey = dice.pick([null, 'a']);
      return ({ tenant: { queries, db, scope, connectionId } }) =>
        queries.requeueAll(db, scope, { connectionId, resourceKey });
    },
  },
  findRequeued: {
    weight: 2,
    make(dice, { quarantineIds }) {
      const after = quarantineIds.length > 0 && dice.chance(0.5) ? dice.pick(quarantineIds) : null;
      const page = { resourceKey: 'a', after, limit: 2 };
      return ({ tenant: { queries, db, scope, connectionId } }) =>
        queries.findRequeued(db, scope, { connectionId, ...page });
    },
  },
  upgrade: {
    weight: 2,
    make(dice) {
      const [version, planned] = [dice.pick(['1.0.0', '2.0.0']), plan(dice)];
      return async ({ tenant }) => {
        await tenant.upgrade(version, planned);
      };
    },
  },
  pause: { weight: 1, make: withTenant((tenant) => tenant.pause()) },
  activate: { weight: 3, make: withTenant((tenant) => tenant.activate()) },
  passes: { weight: 2, make: withTenant((tenant) => tenant.passes(40_000)) },
  requestCancel: { weight: 3, make: withRun(({ queries, db, scope }, id) => queries.requestCancel(db, scope, id)) },
  markDispatched: { weight: 4, make: withRun(({ queries, db, scope }, id) => queries.markDispatched(db, scope, id)) },
  markAlive: { weight: 1, make: withRun(({ queries, db, scope }, id) => queries.markAlive(db, scope, id)) },
  countRestart: { weight: 2, make: withRun(({ queries, db, scope }, id) => queries.countRestart(db, scope, id, 1)) },
  resetAttempts: { weight: 2, make: withRun(({ queries, db, scope }, id) => queries.resetAttempts(db, scope, id)) },
  noteFailure: {
    weight: 2,
    make: withRun(({ queries, db, scope }, runId) =>
      queries.noteFailure(db, scope, { runId, code: 'internal', message: 'no \0 luck' }),
    ),
  },
  readRun: {
    weight: 2,
    make: withRun(async ({ queries, db, scope, connectionId }, id) => ({
      run: await queries.findRun(db, scope, id),
      runs: await queries.findRuns(db, scope, [id, 'run_none']),
      isClean: await queries.isClean(db, scope, id),
      begunWith: await queries.findBegunWith(db, scope, { runId: id, secretKind: 'params-secret' }),
      waits: (await queries.findWaitingRun(db, scope, { connectionId, resourceKey: 'a' })) !== undefined,
      loginFailures: await queries.countLoginFailures(db, scope, { connectionId, last: 2 }),
    })),
  },
  calls: {
    weight: 1,
    make: withRun(async ({ queries, db, scope }, runId) => {
      const last = await queries.lastCallSequence(db, scope, runId);
      await queries.insertCalls(db, scope, [call(runId, last + 1), call(runId, last + 2)]);
      return [last, await queries.lastCallSequence(db, scope, runId)];
    }),
  },
  lookups: {
    weight: 2,
    make(dice, made) {
      const runOf = someRun(dice, made);
      const [isShared, drops] = [dice.chance(0.5), dice.chance(0.2)];
      const keys = dice.some(['k1', 'k2', 'k3'], 'once');
      const ttlSeconds = dice.pick([30, 100]);
      const values = keys.map((key) => ({ key, value: dice.pick([null, '{"a":1}']), ttlSeconds }));
      return async (side) => {
        const { queries, db, scope, connectionId } = side.tenant;
        const cache = { connectionId, runId: isShared ? null : runOf(side) };
        const known = await queries.findLookupValues(db, scope, { ...cache, keys: ['k1', 'k2', 'k3'] });
        await queries.putLookupValues(db, scope, { ...cache, values });
        if (drops) await queries.dropLookupValues(db, scope, { connectionId, runId: runOf(side) });
        return known.toSorted((a, b) => (a.key < b.key ? -1 : 1));
      };
    },
  },
  sweep: {
    weight: 2,
    make: withTenant(async ({ queries, db, scope }) => {
      const options = { olderThanMs: 30_000, limit: 100_000 };
      const found = [await queries.findUndispatchedRuns(db, options), await queries.findSilentRuns(db, options)];
      return found.map((list) => list.filter(({ orgId }) => orgId === scope.orgId));
    }),
  },
};

const all = { ...makers, ...outboxMakers };

/** Without these, nothing else happens. */
const always = ['insertRun', 'beginRun', 'takeLane', 'recordBatch', 'endRun'];

/**
 * The kinds of operations of one sequence, each as often as its weight: a third of all, so that those that are in meet
 * each other. Those of the outbox mean nothing one by one.
 */
export function someKinds(dice: Dice): string[] {
  const hasOutbox = dice.chance(0.3);
  return Object.entries(all)
    .filter(([name]) => always.includes(name) || (name in outboxMakers ? hasOutbox : dice.chance(0.35)))
    .flatMap(([name, { weight }]) => Array.from({ length: weight }, () => name));
}

const first = ['beginRun', 'takeLane'];

/** The next step of a sequence. It begins with a run and an attempt at it: without those, nothing can be recorded. */
export function nextOperation(dice: Dice, made: Made, kinds: readonly string[]): Operation {
  const isOpen = made.attempts.length > 0 || dice.chance(0.1);
  const name = made.runs === 0 ? 'insertRun' : dice.pick(isOpen ? kinds : first);
  const maker = all[name];
  if (!maker) throw new Error(`There is no operation ${name}`);
  return { name, run: maker.make(dice, made) };
}
