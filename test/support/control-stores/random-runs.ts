import type { NewCall } from '../../../db/queries/runs/calls.ts';
import { RunTrigger } from '../../../src/core/resources/run.ts';
import type { SpecUpgrade } from '../../../src/core/resources/spec.ts';
import type { StoreOrg } from './control-store.ts';
import type { Dice } from './dice.ts';
import { type Maker, someRun, type WeightedMaker } from './random-choices.ts';

const plan = (dice: Dice): SpecUpgrade['plan'] => ({
  class: 'compatible',
  ...{ changed: [], backfillRecommended: false, issues: [] },
  resources: ['a', 'b'].map((resourceKey) => ({
    resourceKey,
    class: dice.pick(['compatible', 'resets', 'breaking'] as const),
    resets: dice.pick(['nothing', 'watermark', 'state'] as const),
    ...{
      changed: [],
      redelivers: 'nothing',
      backfillRecommended: false,
      rekeyedTable: null,
      mayDelete: false,
      effect: '',
    },
  })),
});

const call = (runId: string, sequence: number): NewCall => ({
  ...{ runId, sequence, method: 'GET', url: 'https://api.test/', statusCode: 200, durationMs: 3, attempt: 1 },
  ...{ cacheHit: false, reqHeadersRedacted: {}, reqBodyRedacted: null, respHeaders: {}, respBodyTruncated: null },
  errorCode: null,
});

const withRun =
  (run: (org: StoreOrg, runId: string) => Promise<unknown>): Maker =>
  (dice, made) => {
    const runOf = someRun(dice, made);
    return (side) => run(side.org, runOf(side));
  };

const withOrg =
  (run: (org: StoreOrg) => Promise<unknown>): Maker =>
  () =>
  ({ org }) =>
    run(org);

/** Sets the lane back as the run begins. */
const someRewind = (dice: Dice) => ({ from: dice.pick(['1', '3', null]), force: true, rewind: true }) as const;

/** Operations on runs from outside an attempt: what the API, the workflow and the sweepers do. */
export const runMakers: Readonly<Record<string, WeightedMaker>> = {
  insertRun: {
    weight: 8,
    make(dice) {
      const run = {
        resourceKey: dice.pick(['a', 'a', 'b']),
        trigger: dice.pick(RunTrigger.options),
        concurrentMax: dice.pick([1, 2]),
        waitsFor: dice.chance(0.2) ? ['b'] : [],
        backfill: dice.chance(0.2) ? { from: '3', force: true } : dice.chance(0.2) ? someRewind(dice) : null,
      };
      return async ({ org: { queries, db, scope, connectionId }, runs }) => {
        const made = await queries.insertRun(db, scope, { connectionId, ...run });
        runs.push(made.id);
        return made;
      };
    },
  },
  beginRun: { weight: 16, make: withRun(({ queries, db, scope }, id) => queries.beginRun(db, scope, id)) },
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
  upgrade: {
    weight: 2,
    make(dice) {
      const [version, planned] = [dice.pick(['1.0.0', '2.0.0']), plan(dice)];
      return async ({ org }) => {
        await org.upgrade(version, planned);
      };
    },
  },
  pause: { weight: 1, make: withOrg((org) => org.pause()) },
  activate: { weight: 3, make: withOrg((org) => org.activate()) },
  passes: { weight: 2, make: withOrg((org) => org.passes(40_000)) },
  requestCancel: { weight: 3, make: withRun(({ queries, db, scope }, id) => queries.requestCancel(db, scope, id)) },
  leaveToSweeper: { weight: 2, make: withRun(({ queries, db, scope }, id) => queries.leaveToSweeper(db, scope, id)) },
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
        const { queries, db, scope, connectionId } = side.org;
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
    make: withOrg(async ({ queries, db, scope }) => {
      const options = { olderThanMs: 30_000, limit: 100_000 };
      const found = [await queries.findUndispatchedRuns(db, options), await queries.findSilentRuns(db, options)];
      return found.map((list) => list.filter(({ orgId }) => orgId === scope.orgId));
    }),
  },
};
