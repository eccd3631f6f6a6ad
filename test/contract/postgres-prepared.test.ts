import { expect, it } from 'vitest';
import { createPostgresPlace, type PostgresPlace } from '../support/destinations/postgres-kind.ts';
import { batchOf, claimOf, columnOf, rowOf } from '../support/sync/batches.ts';

it('the server keeps the statement of a batch from its second use on', async () => {
  await using place = await createPostgresPlace();
  expect(await keptAtEachOf(place, { batches: 4, meddle: 'null' })).toEqual([0, 1, 1, 1]);
});

it.each([
  ['forgets it, as behind a pooler', [0, 1, 0, 0, 0], 'deallocate all'],
  [
    'keeps another by its name',
    [0, 0, 0, 0, 0],
    `deallocate all;
     execute format('prepare %I as select 1', 'css_' || left(encode(sha256(convert_to(current_query(), 'utf8')), 'hex'), 24))`,
  ],
])('a server that %s gets it whole from then on, and every row once', async (_what, kept, meddle) => {
  await using place = await createPostgresPlace();
  expect(await keptAtEachOf(place, { batches: 5, meddle })).toEqual(kept);
  expect(await place.rows('items')).toHaveLength(5);
});

/** How many statements the server keeps for the session of the destination while it takes each batch; then meddles. */
async function keptAtEachOf(
  place: PostgresPlace,
  { batches, meddle }: { readonly batches: number; readonly meddle: string },
): Promise<readonly number[]> {
  await using destination = place.connect();
  await destination.open(claimOf(place.schema, { columns: [columnOf('a', 'text')] }));
  await place.execute(`
    create table "${place.schema}".kept (at serial, count int);
    create function "${place.schema}".meddle() returns trigger language plpgsql as $$
    begin
      insert into "${place.schema}".kept (count) select count(*) from pg_prepared_statements where not from_sql and name <> '';
      ${meddle};
      return null;
    end $$;
    create trigger meddle after insert on "${place.schema}".items for each statement execute function "${place.schema}".meddle();`);
  for (let batchNo = 1; batchNo <= batches; batchNo += 1)
    expect(await destination.apply(batchOf([rowOf(String(batchNo), { a: 'x' })], { batchNo }))).toEqual([]);
  const rows = await place.query(`select count from "${place.schema}".kept order by at`);
  return rows.map(({ count }) => Number(count));
}
