import type { Attempt } from '../../../db/queries/runs/attempts.ts';
import type { BatchOwner } from '../../../db/queries/runs/batches/batch-owner.ts';
import type { Receipt } from '../../../src/core/model/receipt.ts';
import type { StoreOrg } from './control-store.ts';
import type { Dice } from './dice.ts';
import { randomReceipt } from './random-receipts.ts';

/** A store in a sequence of operations; the n-th run of one is the n-th run of every other. */
export interface Side {
  readonly org: StoreOrg;
  /** Ids of runs. */
  readonly runs: string[];
  readonly attempts: Attempt[];
}

/** What the operations so far have made, the same in every store. */
export interface Made {
  /** When the sequence began, ms since the epoch: fences are made of it. */
  readonly beganMs: number;
  readonly runs: number;
  /** The run of each attempt, from 0. */
  readonly attempts: readonly number[];
  /** Of each run. */
  readonly batchNos: readonly number[];
  readonly pageNos: readonly number[];
  readonly quarantineIds: readonly string[];
  readonly newQuarantineId: () => string;
}

/** Makes an operation of the choices that a seed decides; the same for every store. */
export type Maker = (dice: Dice, made: Made) => (side: Side) => Promise<unknown>;

/** A kind of operation, and how often it comes beside others. */
export interface WeightedMaker {
  readonly weight: number;
  readonly make: Maker;
}

/** An attempt and a run, mostly that of the attempt. */
export interface Chosen {
  /** Of the run, from 0. */
  readonly index: number;
  readonly runId: (side: Side) => string;
  readonly attempt: (side: Side) => Pick<Attempt, 'laneId' | 'fence' | 'seq'>;
  readonly owner: (side: Side) => BatchOwner;
}

/** A run of the sequence, later ones more often. */
export function someRun(dice: Dice, { runs }: Made): (side: Side) => string {
  const index = Math.max(0, runs - 1 - Math.min(dice.below(4), dice.below(4)));
  return (side) => side.runs[index] ?? 'run_none';
}

/** Mostly the last attempt and its run; an attempt that nobody took before there is one. */
export function someAttempt(dice: Dice, { runs, attempts }: Made): Chosen {
  const taken = Math.max(0, attempts.length - 1 - (dice.chance(0.7) ? 0 : dice.below(4)));
  const own = attempts[taken];
  const index = own === undefined || dice.chance(0.15) ? dice.below(runs) : own;
  const attempt: Chosen['attempt'] = (side) => side.attempts[taken] ?? { laneId: 0, fence: 1, seq: 0 };
  const owner = (side: Side) => {
    const { laneId, fence } = attempt(side);
    return { laneId, fence };
  };
  return { index, runId: (side) => side.runs[index] ?? 'run_none', attempt, owner };
}

/** A receipt of the run, mostly of its next batch. */
export function someReceipt(dice: Dice, made: Made, { index, runId }: Chosen): (side: Side) => Receipt {
  const { quarantineIds, newQuarantineId } = made;
  const batchNo = (made.batchNos[index] ?? 0) + (dice.chance(0.85) ? 1 : dice.pick([0, 2]));
  const pageNo = (made.pageNos[index] ?? 0) + (dice.chance(0.97) ? 1 : 0);
  const receipt = randomReceipt(dice, { runId: '', batchNo, pageNo, quarantineIds, newQuarantineId });
  return (side) => ({ ...receipt, runId: runId(side) });
}
