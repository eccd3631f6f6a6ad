/** Requests for a batch of 1,000 rows of which a SQL Server refuses some, counted at a scripted server. */
import { expect, it } from 'vitest';
import { type Refusing, refusingScript } from '../test/support/sqlserver/refusing.ts';
import { connectFake } from '../test/support/sqlserver/script.ts';
import { startTdsFake } from '../test/support/sqlserver/tds-fake.ts';
import { batchOf, claimOf, columnOf, rowOf } from '../test/support/sync/batches.ts';

const rows = Array.from({ length: 1000 }, (_, n) => rowOf(String(n), { n }));
const counts = [1, 10, 100, 1000];

/** Places spread over the rows. */
const spread = (count: number): number[] =>
  Array.from({ length: count }, (_, index) => Math.floor(((index + 1 / 3) * rows.length) / count));

/** Before, each trial was a request, and a duplicate was tried three times; measured with the same rows. */
const before: Readonly<Record<string, readonly number[]>> = {
  'a check': [39, 252, 1488, 5004],
  'a duplicate key': [87, 596, 3600, 13_004],
  'a trigger': [39, 252, 1488, 5004],
};

const kinds: readonly (readonly [string, (places: readonly number[]) => Refusing])[] = [
  ['a check', (places) => ({ checks: places })],
  ['a duplicate key', (places) => ({ taken: places })],
  ['a trigger', (places) => ({ triggers: places })],
];

const results: Record<string, unknown>[] = [];

it.each(kinds)('rows refused by %s', async (name, refusing) => {
  for (const [index, count] of counts.entries()) {
    const places = spread(count);
    await using fake = await startTdsFake(refusingScript(refusing(places)));
    await using destination = connectFake(fake);
    await destination.open(claimOf('dbo', { columns: [columnOf('a', 'text'), columnOf('n', 'bigint')] }));
    const opening = fake.requests.length;
    const rejected = await destination.apply(batchOf(rows));
    expect(rejected.map(({ externalId }) => externalId)).toEqual(places.map(String));
    const requests = fake.requests.length - opening;
    results.push({ 'refused by': name, refused: count, requests, before: before[name]?.[index] });
  }
});

it('in one table', () => {
  process.stdout.write('\n');
  console.table(results);
  expect(results).toHaveLength(kinds.length * counts.length);
});
