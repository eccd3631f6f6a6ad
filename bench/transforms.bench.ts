/** Microseconds per record of one mapping of 16 columns, by each engine that there is and by plain JavaScript. */

import jsonata from 'jsonata';
import { expect, it } from 'vitest';
import { compile } from '../src/core/expressions/compiled/compile.ts';
import { withCompiledExpressions } from '../src/core/expressions/compiled-evaluator.ts';
import { type Evaluator } from '../src/core/expressions/evaluation.ts';
import { createEvaluatorPool } from '../src/core/expressions/evaluator-pool.ts';

const recordsOfPage = 1000;
/** Each measures the best of these: what disturbs a machine only makes it slower. */
const rounds = 40;

const expression = `{
  "id": id,
  "name": $trim(first & " " & last),
  "email": $lowercase(email),
  "phone": phone ?? "unknown",
  "street": address.street,
  "city": address.city,
  "country": $lookup($lookups.countries, address.country),
  "zip": $string(address.zip),
  "status": active ? "active" : "inactive",
  "visits": visits,
  "points": visits * 3 + bonus,
  "amount": $round(amount, 2),
  "tier": amount >= 1000 and active ? "gold" : amount >= 100 ? "silver" : "bronze",
  "tags": $join(tags, ","),
  "total": $sum(orders.price),
  "created_at": $toMillis(created)
}`;

const countries: Readonly<Record<string, string>> = { DE: 'Germany', FR: 'France', NO: 'Norway' };

const page = Array.from({ length: recordsOfPage }, (_unused, n) => ({
  id: n,
  first: `First ${n}`,
  last: `Last ${n % 97}`,
  email: `Person${n}@Example.COM`,
  phone: n % 3 === 0 ? null : `+49 30 ${n}`,
  address: {
    street: `Street ${n}`,
    city: `City ${n % 53}`,
    country: ['DE', 'FR', 'NO'][n % 3] ?? 'DE',
    zip: 10_000 + n,
  },
  active: n % 2 === 0,
  visits: n % 1000,
  bonus: n % 7,
  amount: n * 1.005,
  tags: ['a', `b${n % 7}`],
  orders: [{ price: n }, { price: 2.5 }],
  created: '2026-01-01T00:00:00.000Z',
}));
type Customer = (typeof page)[number];

const byHand = (record: Customer) => ({
  id: record.id,
  name: `${record.first} ${record.last}`.replace(/[ \t\n\r]+/g, ' ').trim(),
  email: record.email.toLowerCase(),
  phone: record.phone,
  street: record.address.street,
  city: record.address.city,
  country: countries[record.address.country],
  zip: String(record.address.zip),
  status: record.active ? 'active' : 'inactive',
  visits: record.visits,
  points: record.visits * 3 + record.bonus,
  amount: Math.round(record.amount * 100) / 100,
  tier: tierOf(record),
  tags: record.tags.join(','),
  total: record.orders.reduce((sum, { price }) => sum + price, 0),
  created_at: Date.parse(record.created),
});

function tierOf({ amount, active }: Customer): string {
  if (amount >= 1000 && active) return 'gold';
  return amount >= 100 ? 'silver' : 'bronze';
}

const bindings = { lookups: { countries }, params: {}, each: {} };

/** Runs a page of records through an evaluator. */
const through = (evaluator: Evaluator) => async () => {
  const results = await evaluator.transform({ expression, records: page, bindings, now: new Date(0), nulls: 'keep' });
  expect(results.every(({ ok }) => ok)).toBe(true);
};

async function inProcess(): Promise<void> {
  for (const record of page) await interpreted.evaluate(record, bindings);
}

const interpreted = jsonata(expression);

it('one mapping by each engine, in one table', async () => {
  expect(compile(expression)).not.toBeNull();
  await using children = createEvaluatorPool();
  const pool = children.forOrg('org_of_the_benchmark');
  const compiled = withCompiledExpressions(children).forOrg('org_of_the_benchmark');
  const engines: readonly (readonly [string, () => unknown])[] = [
    ['plain JavaScript', () => page.map(byHand)],
    ['compiled', through(compiled)],
    ['JSONata in this process', inProcess],
    ['JSONata in the pool', through(pool)],
  ];
  const rows: { readonly engine: string; readonly micros: number }[] = [];
  for (const [engine, run] of engines) rows.push({ engine, micros: await bestMicros(run) });
  const [plain] = rows;
  process.stdout.write('\n');
  console.table(
    rows.map(({ engine, micros }) => ({
      engine,
      'µs per record': Number(micros.toFixed(2)),
      'of plain JavaScript': Number((micros / (plain?.micros ?? micros)).toFixed(1)),
    })),
  );
  expect(rows).toHaveLength(engines.length);
});

async function bestMicros(run: () => unknown): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    const startedAt = performance.now();
    await run();
    best = Math.min(best, ((performance.now() - startedAt) * 1000) / recordsOfPage);
  }
  return best;
}
