import type { OutboxOwner, OutboxPartRow, OutboxTarget } from '../../../db/queries/runs/batches/outbox.ts';
import type { Dice } from './dice.ts';
import { type Chosen, type Made, type Side, someAttempt, type WeightedMaker } from './random-choices.ts';

const paths = ['1', '2', '10', '1.0', '1.1'] as const;

const part = (dice: Dice, path: string): OutboxPartRow => ({
  path,
  again: dice.chance(0.3),
  isDoubted: false,
  mayBeTaken: dice.chance(0.2),
  id: `msg_${path}`,
  body: Buffer.from(`{"path":"${path}"}`),
  indexes: [dice.below(3), 3],
});

const ownerOf = ({ owner, runId }: Chosen, side: Side): OutboxOwner => ({ ...owner(side), runId: runId(side) });

/** An operation of the attempt that it is given. */
const asOwner =
  (choose: (dice: Dice) => (side: Side, owner: OutboxOwner) => Promise<unknown>) => (dice: Dice, made: Made) => {
    const chosen = someAttempt(dice, made);
    const run = choose(dice);
    return (side: Side) => run(side, ownerOf(chosen, side));
  };

/** Operations on the outbox of a lane. */
export const outboxMakers: Readonly<Record<string, WeightedMaker>> = {
  openOutbox: {
    weight: 12,
    make: asOwner((dice) => {
      const address = dice.chance(0.95) ? 'one' : dice.pick(['two', 'former']);
      const target: OutboxTarget = {
        address,
        standing: (stored) => (stored.address === 'former' ? 'former' : stored.address === address ? 'same' : 'other'),
      };
      const generation = dice.chance(0.9) ? '' : 'other';
      return ({ org: { queries, db, scope } }, owner) => queries.openOutbox(db, scope, { owner, target, generation });
    }),
  },
  putPending: {
    weight: 12,
    make: asOwner((dice) => {
      const parts = dice.some(paths, dice.chance(0.02) ? 'with repeats' : 'once').map((path) => part(dice, path));
      const [draft, sequence] = [dice.pick(['draft', 'other draft']), dice.below(9)];
      const batchNo = 1 + dice.below(3);
      return ({ org: { queries, db, scope } }, owner) => {
        const pending = { runId: owner.runId, batchNo, draft, rejected: '[]', parts };
        return queries.putPending(db, scope, { owner, pending, sequence });
      };
    }),
  },
  advancePending: {
    weight: 10,
    make: asOwner((dice) => {
      const step = {
        part: part(dice, dice.pick(paths)),
        refused: dice.pick([null, '[3]']),
        parts: dice.chance(0.3) ? [part(dice, dice.pick(paths))] : [],
        bytesMax: dice.pick([null, 100, 200]),
      };
      return ({ org: { queries, db, scope } }, owner) => queries.advancePending(db, scope, { owner, ...step });
    }),
  },
  doubtPart: {
    weight: 2,
    make: asOwner((dice) => {
      const doubted = part(dice, dice.pick(paths));
      return ({ org: { queries, db, scope } }, owner) => queries.doubtPart(db, scope, { owner, part: doubted });
    }),
  },
  countFailure: {
    weight: 6,
    make: asOwner(() => async ({ org: { queries, db, scope } }, owner) => {
      const counted = await queries.countFailure(db, scope, owner);
      return counted && { failures: counted.failures, isSince: counted.sinceMs >= 0 };
    }),
  },
  endPending: {
    weight: 12,
    make: asOwner((dice) => {
      const receipt = dice.pick([null, 'receipt', 'other receipt', 'third receipt']);
      return ({ org: { queries, db, scope } }, owner) => queries.endPending(db, scope, { owner, receipt });
    }),
  },
};
