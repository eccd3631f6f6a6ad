/** Rows per second into each kind of destination, one batch at a time, beside COPY of the same rows. */

import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { expect, it } from 'vitest';
import type { Destination } from '../src/core/destinations/destination.ts';
import type { Deliverable } from '../src/core/model/batch.ts';
import { deliveryKinds } from '../test/support/destinations/destination-kinds.ts';
import { connectAdmin } from '../test/support/destinations/postgres-kind.ts';
import { batchOf, claimOf, columnOf } from '../test/support/sync/batches.ts';

const rowsMax = 100_000;
/** Each is written to the outbox, posted, verified and acknowledged: fewer say as much. */
const rowsOfWebhook = 20_000;
const pageSizes = [100, 500, 5000];

/** 16 columns of a customer, of the types that most tables have. */
const columns = [
  ...['first_name', 'last_name', 'email', 'phone', 'street', 'city', 'country', 'status'].map((name) =>
    columnOf(name, 'text'),
  ),
  ...['visits', 'points', 'age'].map((name) => columnOf(name, 'bigint')),
  columnOf('amount', 'numeric'),
  columnOf('active', 'boolean'),
  columnOf('tags', 'json'),
  columnOf('created_at', 'timestamptz'),
  columnOf('updated_at', 'timestamptz'),
];

const row = (n: number, version: number): Deliverable => ({
  externalId: `r${String(n).padStart(7, '0')}`,
  hash: `${version}-${n}`,
  data: {
    first_name: `First ${n}`,
    last_name: `Last ${n % 977}`,
    email: `person${n}@example.com`,
    phone: `+49 30 ${100_000 + n}`,
    street: `Street ${n % 311} ${n % 97}`,
    city: `City ${n % 53}`,
    country: 'DE',
    status: version === 1 ? 'new' : 'changed',
    visits: n % 1000,
    points: n * 3,
    age: 18 + (n % 70),
    amount: `${n}.25`,
    active: n % 2 === 0,
    tags: ['a', `b${n % 7}`],
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-02-01T00:00:00.000Z',
  },
});

const pages = (size: number, version: number, count = rowsMax): Deliverable[][] =>
  Array.from({ length: count / size }, (_, page) =>
    Array.from({ length: size }, (_unused, index) => row(page * size + index, version)),
  );

/** Rows per second of the whole. */
async function perSecond(work: () => Promise<void>, count = rowsMax): Promise<number> {
  const startedAt = performance.now();
  await work();
  return Math.round(count / ((performance.now() - startedAt) / 1000));
}

async function apply(destination: Destination, batches: readonly Deliverable[][], firstNo: number): Promise<void> {
  for (const [index, rows] of batches.entries()) {
    expect(await destination.apply(batchOf(rows, { batchNo: firstNo + index }))).toEqual([]);
  }
}

const results: Record<string, unknown>[] = [];

const names = ['id', ...columns.map(({ name }) => name)];

/** In the text form of COPY; JSON as JSON. */
const copyText = (rows: readonly Deliverable[]): string =>
  rows
    .map(({ externalId, data }) => {
      const fields = Object.values(data).map((value) =>
        typeof value === 'object' ? JSON.stringify(value) : `${value as string | number | boolean}`,
      );
      return `${[externalId, ...fields].join('\t')}\n`;
    })
    .join('');

it.each(pageSizes)('COPY, a transaction for %d rows', async (size) => {
  const client = await connectAdmin();
  await client.query(`create temporary table copied (${names.map((name) => `${name} text`).join(', ')})`);
  const lines = pages(size, 1).map(copyText);
  const rate = await perSecond(async () => {
    for (const text of lines) await pipeline([text], client.query(copyFrom('copy copied from stdin')));
  });
  const { rows } = await client.query<{ count: string }>('select count(*) from copied');
  expect(Number(rows[0]?.count)).toBe(rowsMax);
  await client.end();
  results.push({ kind: 'COPY', rows: size, 'inserts/s': rate });
});

/** The other way to write a batch safely: COPY beside the table, then one upsert, all in one transaction. */
it.each(pageSizes)('COPY into a temporary table and upsert, %d rows in a batch', async (size) => {
  const client = await connectAdmin();
  const types = columns.map(({ name, type }) => `${name} ${type.kind === 'json' ? 'jsonb' : type.kind}`);
  await client.query(`create table bench_target (id text primary key, ${types.join(', ')});
    create temporary table staged (like bench_target)`);
  const updates = columns.map(({ name }) => `${name} = excluded.${name}`).join(', ');
  const write = (version: number) => {
    const lines = pages(size, version).map(copyText);
    return perSecond(async () => {
      for (const text of lines) {
        await client.query('begin');
        await pipeline([text], client.query(copyFrom('copy staged from stdin')));
        await client.query(`insert into bench_target select * from staged on conflict (id) do update set ${updates}`);
        await client.query('truncate staged');
        await client.query('commit');
      }
    });
  };
  const result = { kind: 'COPY, upsert', rows: size, 'inserts/s': await write(1), 'updates/s': await write(2) };
  const { rows } = await client.query<{ count: string }>("select count(*) from bench_target where status = 'changed'");
  expect(Number(rows[0]?.count)).toBe(rowsMax);
  await client.query('drop table bench_target');
  await client.end();
  results.push(result);
});

for (const kind of deliveryKinds) {
  it.each(pageSizes)(`${kind.name}, %d rows in a batch`, async (size) => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns }));
    const total = kind.name === 'webhook' ? rowsOfWebhook : rowsMax;
    const [first, second] = [pages(size, 1, total), pages(size, 2, total)];
    const inserts = await perSecond(() => apply(destination, first, 1), total);
    const updates = await perSecond(() => apply(destination, second, first.length + 1), total);
    const copy = Number(results.find((result) => result['kind'] === 'COPY' && result['rows'] === size)?.['inserts/s']);
    expect(await place.rows('items')).toHaveLength(total);
    results.push({
      kind: kind.name,
      rows: size,
      'inserts/s': inserts,
      'updates/s': updates,
      'of COPY': Number((inserts / copy).toFixed(2)),
    });
  });
}

it('in one table', () => {
  process.stdout.write('\n');
  console.table(results);
  expect(results).toHaveLength(pageSizes.length * (2 + deliveryKinds.length));
});
