/** The rows that a SQL Server refuses: exactly those, with their reasons, by few requests. */
import { describe, expect, it } from 'vitest';
import type { WriteMode } from '../../src/core/destinations/destination.ts';
import { type Refusing, refusingScript } from '../support/sqlserver/refusing.ts';
import { connectFake, isBatch, isTrials } from '../support/sqlserver/script.ts';
import { startTdsFake } from '../support/sqlserver/tds-fake.ts';
import { batchOf, claimOf, columnOf, receiptOf, rowOf } from '../support/sync/batches.ts';

const claim = claimOf('dbo', { columns: [columnOf('a', 'text'), columnOf('n', 'bigint')] });
const rowsOf = (count: number) => Array.from({ length: count }, (_row, n) => rowOf(String(n), { n }));

/** Places spread over 1,000 rows. */
const spread = (count: number): number[] =>
  Array.from({ length: count }, (_, index) => Math.floor(((index + 0.37) * 1000) / count));

interface Applied {
  readonly refused: readonly string[];
  readonly reasons: readonly string[];
  readonly requests: number;
  readonly trials: number;
  /** The receipt that was committed is that of the rows refused. */
  readonly isNoted: boolean;
}

/** Applies a batch to a table that holds this against it. */
async function applied(
  refusing: Refusing,
  options: { count?: number; trialMs?: number; tellsRules?: boolean; mode?: WriteMode } = {},
): Promise<Applied> {
  await using fake = await startTdsFake(refusingScript(refusing, options));
  await using destination = connectFake(fake);
  await destination.open({ ...claim, target: { ...claim.target, mode: options.mode ?? 'upsert' } });
  const opening = fake.requests.length;
  const rejected = await destination.apply(batchOf(rowsOf(options.count ?? 1000)));
  const commit = fake.requests.filter(isBatch).at(-1);
  return {
    refused: rejected.map(({ externalId }) => externalId),
    reasons: [...new Set(rejected.map(({ message }) => message))],
    requests: fake.requests.length - opening,
    trials: fake.requests.filter(isTrials).length,
    isNoted: commit?.values['receipt'] === receiptOf(rejected),
  };
}

const reasons = {
  check: 'refused by constraint "small" (error 547)',
  duplicate: 'refused as a duplicate by constraint "one_n" (error 2627)',
  trigger: 'refused by a trigger (error 50000)',
};

describe('of 1,000 rows', () => {
  const kinds: readonly (readonly [string, (places: readonly number[]) => Refusing, string])[] = [
    ['a check', (places) => ({ checks: places }), reasons.check],
    ['a key that another record has', (places) => ({ taken: places }), reasons.duplicate],
    ['its size', (places) => ({ wide: places }), 'the row is too large (error 511)'],
    ['a trigger', (places) => ({ triggers: places }), reasons.trigger],
  ];
  const counts = [1, 10, 100, 1000];

  it.each(kinds.flatMap((kind) => counts.map((count) => [count, ...kind] as const)))(
    '%d refused by %s are found exactly, with no more than a few dozen requests',
    async (count, _, refusing, reason) => {
      const places = spread(count);
      const result = await applied(refusing(places));
      expect(result.refused).toEqual(places.map(String));
      expect(result.reasons).toEqual([reason]);
      expect(result.isNoted).toBe(true);
      expect(result.requests).toBeLessThanOrEqual(36);
    },
  );

  it.each(kinds.slice(0, 2))(
    'what %s refuses is found without a trial where the catalog shows it',
    async (_, refusing) => {
      expect((await applied(refusing(spread(100)))).trials).toBe(0);
    },
  );

  it.each(kinds.slice(0, 2))(
    'what %s refuses is found by trials where the catalog tells nothing',
    async (_, refusing, reason) => {
      const result = await applied(refusing(spread(100)), { tellsRules: false });
      expect(result).toMatchObject({ refused: spread(100).map(String), reasons: [reason], isNoted: true });
      expect(result.trials).toBeGreaterThan(0);
      expect(result.requests).toBeLessThanOrEqual(36);
    },
  );
});

it('of rows that have a key together the first is written, and the others are refused', async () => {
  const result = await applied(
    {
      twins: [
        [1, 5, 7],
        [2, 3],
      ],
    },
    { count: 10 },
  );
  expect(result).toMatchObject({ refused: ['3', '5', '7'], reasons: [reasons.duplicate], trials: 0 });
});

it('of rows that have a key together the next is written where the first is refused for a reason of its own', async () => {
  const result = await applied({ twins: [[1, 5, 7]], triggers: [1] }, { count: 10 });
  expect(result).toMatchObject({ refused: ['1', '7'], reasons: [reasons.trigger, reasons.duplicate], isNoted: true });
});

it('rows are found that are refused for different reasons', async () => {
  const result = await applied({ checks: [0, 4], taken: [9], triggers: [3], twins: [[2, 8]] }, { count: 10 });
  expect(result.refused).toEqual(['0', '3', '4', '8', '9']);
  expect(result.isNoted).toBe(true);
});

it('in mode update, where only trials tell, exactly the refused rows are found', async () => {
  const result = await applied({ checks: [0, 4], triggers: [3] }, { count: 10, mode: 'update' });
  expect(result.refused).toEqual(['0', '3', '4']);
  expect(result.isNoted).toBe(true);
});

it('a key that another session has for a moment refuses nothing', async () => {
  const result = await applied({ races: [3], triggers: [1] }, { count: 10, tellsRules: false });
  expect(result.refused).toEqual(['1']);
});

it('rows that could not be tried within two minutes are refused together, and the reason says so', async () => {
  const triggers = [0, 1, 2, 3, 4, 5, 6, 7, 30];
  const result = await applied({ triggers }, { count: 50, trialMs: 6000 });
  expect(result.trials).toBe(20);
  expect(result.reasons).toEqual([
    reasons.trigger,
    expect.stringContaining('too many records of its batch were refused'),
  ]);
  const [untried] = result.refused.slice(8).map(Number);
  expect(untried).toBeGreaterThan(8);
  expect(untried).toBeLessThanOrEqual(30);
  const together = rowsOf(50)
    .slice(untried)
    .map(({ externalId }) => externalId);
  expect(result.refused.slice(8)).toEqual(together);
  expect(result.isNoted).toBe(true);
});
