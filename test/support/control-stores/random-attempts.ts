import type { RunOutcome } from '../../../db/queries/runs/lanes/end-run.ts';
import type { Meaning } from '../../../src/core/spec/connection/meaning.ts';
import { takeOptions } from '../service/receipts.ts';
import { someAttempt, someReceipt, someRun, type WeightedMaker } from './random-choices.ts';
import { listedScan, listPosition, recordIds, scan } from './random-receipts.ts';

const outcomes: readonly RunOutcome[] = [
  { status: 'succeeded', error: null },
  { status: 'succeeded', error: null },
  { status: 'partial', error: null },
  { status: 'canceled', error: null },
  { status: 'failed', error: { code: 'destination_login', message: 'refused \0' } },
  { status: 'failed', error: { code: 'auth_failed', message: 'refused' } },
];

/** What a last batch has that is left to the end of its run. */
const quietEnd = {
  ...{ position: null, failure: null, records: [], deleted: [], seen: [], quarantine: [], retried: [] },
  ...{ proofs: [], scan: null, closes: null, closesVersions: [] },
};

/** Operations of an attempt on its lane: what it records, compares, keeps back and ends. */
export const attemptMakers: Readonly<Record<string, WeightedMaker>> = {
  takeLane: {
    weight: 16,
    make(dice, made) {
      const runOf = someRun(dice, made);
      const scheduledAtMs = made.beganMs + dice.pick([-9000, -3000, 0, 0, 0, 0, 2_000_000_000]);
      return async (side) => {
        const { queries, db, scope } = side.org;
        const attempt = await queries.takeLane(db, scope, runOf(side), takeOptions({ scheduledAtMs }));
        if (attempt) side.attempts.push(attempt);
        return attempt;
      };
    },
  },
  recordBatch: {
    weight: 32,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      const [receipt, applied] = [someReceipt(dice, made, chosen), dice.chance(0.5)];
      return (side) => {
        const { queries, db, scope } = side.org;
        return queries.recordBatch(db, scope, { owner: chosen.owner(side), receipt: receipt(side), applied });
      };
    },
  },
  recordCarried: {
    weight: 12,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      const [receipt, runOf] = [someReceipt(dice, made, someAttempt(dice, made)), someRun(dice, made)];
      return (side) => {
        const { queries, db, scope } = side.org;
        const owner = chosen.owner(side);
        return queries.recordCarried(db, scope, { owner, receipt: receipt(side), runId: runOf(side) });
      };
    },
  },
  findBehindSince: {
    weight: 6,
    make(dice, made) {
      const [chosen, runOf] = [someAttempt(dice, made), someRun(dice, made)];
      const [batchNo, isOwn] = [dice.below(4), dice.chance(0.3)];
      return async (side) => {
        const { queries, db, scope } = side.org;
        const [{ laneId }, runId] = [chosen.owner(side), runOf(side)];
        const onlyOf = isOwn ? chosen.runId(side) : null;
        // Each store has a clock of its own.
        return (await queries.findBehindSince(db, scope, { laneId, runId, batchNo, onlyOf })) !== null;
      };
    },
  },
  passOver: {
    weight: 4,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      const batchNo = dice.pick([1, 2, 4]);
      return (side) => {
        const { queries, db, scope } = side.org;
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
        const { queries, db, scope } = side.org;
        return queries.findDeleted(db, scope, { laneId: chosen.owner(side).laneId, ...page });
      };
    },
  },
  conformLane: {
    weight: 4,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      const changed = dice.some(['key', 'cursor', 'read', 'fields', 'known'] as const, 'once');
      const [before, meaning] = dice.pick([
        [null, meaningOf('r')],
        [meaningOf('r'), meaningOf('s')],
        [meaningOf('s'), meaningOf('r')],
      ]);
      return (side) => {
        const { queries, db, scope } = side.org;
        return queries.conformLane(db, scope, {
          ...chosen.owner(side),
          runId: chosen.runId(side),
          before,
          meaning,
          changed,
        });
      };
    },
  },
  forgetLane: {
    weight: 6,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      return (side) => {
        const { queries, db, scope } = side.org;
        return queries.forgetLane(db, scope, { ...chosen.owner(side), runId: chosen.runId(side) });
      };
    },
  },
  endRun: {
    weight: 8,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      const [outcome, owned, breaksConnection] = [dice.pick(outcomes), dice.chance(0.5), dice.chance(0.2)];
      const receipt = someReceipt(dice, made, chosen);
      const hasLast = owned && outcome.status === 'succeeded' && dice.chance(0.5);
      return (side) => {
        const { queries, db, scope } = side.org;
        const [runId, owner] = [chosen.runId(side), owned ? chosen.owner(side) : null];
        const { listed: _listed, listedEnd: _end, ...plain } = receipt(side);
        const last = hasLast ? { ...plain, ...quietEnd, runId } : null;
        return queries.endRun(db, scope, { runId, outcome, owner, last, breaksConnection });
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
        const { queries, db, scope } = side.org;
        const part = { runId: chosen.runId(side), owner: chosen.owner(side), dimension };
        if (clears) return queries.clearDimension(db, scope, part);
        return queries.addToDimension(db, scope, { ...part, values, position: listPosition(dimension) });
      };
    },
  },
  noteLeftovers: {
    weight: 4,
    make(dice, made) {
      const [chosen, externalIds] = [someAttempt(dice, made), dice.some(recordIds, 'once')];
      return (side) => {
        const { queries, db, scope } = side.org;
        return queries.noteLeftovers(db, scope, { owner: chosen.owner(side), externalIds });
      };
    },
  },
  noteRestored: {
    weight: 2,
    make(dice, made) {
      const chosen = someAttempt(dice, made);
      return ({ org, ...side }) => org.queries.noteRestored(org.db, org.scope, chosen.owner({ org, ...side }));
    },
  },
  missing: {
    weight: 8,
    make(dice, made) {
      const [chosen, partition, compared] = [someAttempt(dice, made), dice.pick([null, '', 'p1']), scan(dice)];
      const after = dice.pick([null, null, 'r2']);
      return async (side) => {
        const { queries, db, scope } = side.org;
        const { laneId, seq } = chosen.attempt(side);
        const states = await queries.findRecordStates(db, scope, { laneId, externalIds: recordIds });
        return {
          counts: await queries.countMissing(db, scope, { laneId, seq, ...compared }),
          missing: await queries.findMissing(db, scope, { laneId, seq, ...compared, after, limit: 3 }),
          hides: await queries.hidesMissing(db, scope, { laneId, seq, ...compared }),
          known: await queries.countKnown(db, scope, laneId),
          startsOver: await queries.startsOver(db, scope, laneId),
          replaced: await queries.countReplaced(db, scope, { laneId, seq }),
          states: states.toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1)),
          partition: await queries.findPartition(db, scope, { laneId, partition: partition ?? 'p2' }),
        };
      };
    },
  },
  listed: {
    weight: 5,
    make(dice, made) {
      const [chosen, partition, decided] = [someAttempt(dice, made), dice.pick(['', 'p1', 'p2']), listedScan(dice)];
      const after = dice.pick([null, null, 'r2']);
      return async (side) => {
        const { queries, db, scope } = side.org;
        const { laneId, seq } = chosen.attempt(side);
        const named = await queries.findListed(db, scope, { laneId, partition, externalIds: recordIds });
        return {
          named: named.toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1)),
          counts: await queries.countListed(db, scope, { laneId, seq, ...decided }),
          due: await queries.findDue(db, scope, { laneId, seq, ...decided, after, limit: 3 }),
        };
      };
    },
  },
  requeueOne: {
    weight: 2,
    make(dice, { quarantineIds }) {
      const id = quarantineIds.length > 0 ? dice.pick(quarantineIds) : 'quar_none';
      return ({ org: { queries, db, scope } }) => queries.requeueOne(db, scope, id);
    },
  },
  requeueAll: {
    weight: 1,
    make(dice) {
      const resourceKey = dice.pick([null, 'a']);
      return ({ org: { queries, db, scope, connectionId } }) =>
        queries.requeueAll(db, scope, { connectionId, resourceKey });
    },
  },
  findRequeued: {
    weight: 2,
    make(dice, made) {
      const { quarantineIds } = made;
      const after = quarantineIds.length > 0 && dice.chance(0.5) ? dice.pick(quarantineIds) : null;
      const page = { resourceKey: 'a', after, limit: 2 };
      return (side) => {
        const { queries, db, scope, connectionId } = side.org;
        return queries.findRequeued(db, scope, { connectionId, ...page });
      };
    },
  },
};

const meaningOf = (read: string): Meaning => ({
  key: 'k',
  cursor: 'c',
  read,
  account: '',
  places: '',
  fields: '',
  known: '',
});
