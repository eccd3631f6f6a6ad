import { describe, expect, it } from 'vitest';
import { createPostgresPlace, type PostgresPlace } from '../support/destinations/postgres-kind.ts';
import { batchOf, claimOf, rowOf } from '../support/sync/batches.ts';
import { deliver, itemValues, seedRows } from '../support/sync/deliver.ts';

/** A trigger that silently drops what happens to records whose id is in the list. */
const keeping = (place: PostgresPlace, operation: string, ids: string) =>
  place.execute(`
    create function "${place.schema}".keep() returns trigger language plpgsql as $$ begin
      if coalesce(new._external_id, old._external_id) in (${ids}) then return null; end if;
      return coalesce(new, old); end $$;
    create trigger keep before ${operation} on "${place.schema}".items
      for each row execute function "${place.schema}".keep()`);

const keptAway = 'A trigger, rule or row policy of the table keeps this record from being written.';
const keptRow = 'A trigger, rule or row policy of the table keeps the row of this record from being deleted.';

/** Delivers to a lane that was there before; the refused rows and the receipt that was left. */
async function delivered(
  place: PostgresPlace,
  claim: Parameters<typeof claimOf>[1],
  batch: Parameters<typeof batchOf>[1],
) {
  await using destination = place.connect();
  await destination.open(claimOf(place.schema, claim));
  const rejected = await destination.apply(batchOf([], { runId: 'run_2', ...batch }));
  const [checkpoint] = await place.query(
    `select receipt from "${place.schema}"._css_checkpoint where lane = 'con_1/items'`,
  );
  return { rejected, receipt: JSON.parse(String(checkpoint?.['receipt'])).rejected };
}

describe('a row that a trigger keeps away', () => {
  it.each(['upsert', 'append'] as const)('is a refused row in mode %s, and the others are written', async (mode) => {
    await using place = await createPostgresPlace();
    await deliver(place, { mode }, { rows: [rowOf('0', { a: 'x' })] });
    await keeping(place, 'insert', "'2', '4'");
    const rows = ['1', '2', '3', '4'].map((id) => rowOf(id, { a: id }));
    const { rejected, receipt } = await delivered(place, { mode, fence: 2 }, { rows, allNew: true });
    expect(rejected).toEqual([
      { index: 1, externalId: '2', message: keptAway },
      { index: 3, externalId: '4', message: keptAway },
    ]);
    expect(receipt).toEqual(['2', '4']);
    expect(await itemValues(place, 'a')).toEqual(['0 x', '1 1', '3 3']);
  });

  it('is found among the versions of a record that is appended to', async () => {
    await using place = await createPostgresPlace();
    await deliver(place, { mode: 'append' }, { rows: [rowOf('1', { v: 0 })] });
    await place.execute(`
      create function "${place.schema}".keep() returns trigger language plpgsql as $$ begin
        return case when new.v = 2 then null else new end; end $$;
      create trigger keep before insert on "${place.schema}".items for each row execute function "${place.schema}".keep()`);
    const rows = [1, 2, 3].map((v) => rowOf('1', { v }));
    const { rejected } = await delivered(place, { mode: 'append', fence: 2 }, { rows });
    expect(rejected).toEqual([{ index: 1, externalId: '1', message: keptAway }]);
    expect(await itemValues(place, 'v')).toEqual(['1 0', '1 1', '1 3']);
  });

  it('stays with what it was where it is updated, in every batch of the session', async () => {
    await using place = await createPostgresPlace();
    await seedRows(place, { mode: 'update' });
    await keeping(place, 'update', "'2'");
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { mode: 'update' }));
    for (const batchNo of [1, 2]) {
      const rows = ['2', '3'].map((id) => rowOf(id, { owned: `new ${batchNo}` }));
      expect(await destination.apply(batchOf(rows, { batchNo }))).toEqual([
        { index: 0, externalId: '2', message: keptAway },
      ]);
    }
    expect(await itemValues(place, 'owned')).toEqual(['1 x', '2 x', '3 new 2']);
  });

  it('stays where its record is deleted, and that is told apart from a record without a row', async () => {
    await using place = await createPostgresPlace();
    await deliver(place, {}, { rows: ['1', '2', '3', '4'].map((id) => rowOf(id, { a: 'x' })) });
    await keeping(place, 'delete or update', "'1', '3'");
    const tombstones = [
      { externalId: '1', effect: 'hard' },
      { externalId: '2', effect: 'hard' },
      { externalId: '3', effect: 'soft' },
      { externalId: '4', effect: 'soft' },
      { externalId: 'never there', effect: 'hard' },
    ] as const;
    const { rejected, receipt } = await delivered(place, { fence: 2 }, { rows: [rowOf('5')], tombstones });
    expect(rejected).toEqual([
      { index: 1, externalId: '1', message: keptRow },
      { index: 3, externalId: '3', message: keptRow },
    ]);
    expect(receipt).toEqual(['1', '3']);
    expect((await place.rows('items')).map((row) => [row['_external_id'], row['_deleted_at'] === null])).toEqual([
      ['1', true],
      ['3', true],
      ['4', false],
      ['5', true],
    ]);
  });
});

it('a row that row security hides from an update or a deletion is a refused one', async () => {
  await using place = await createPostgresPlace();
  await seedRows(place, { mode: 'update' });
  const table = `"${place.schema}".items`;
  const role = `role_${place.schema}`;
  await place.execute(`
    create role ${role} login password 'x';
    grant all on schema "${place.schema}" to ${role};
    alter table "${place.schema}"._css_checkpoint owner to ${role};
    alter table "${place.schema}"._css_tables owner to ${role};
    alter table ${table} owner to ${role};
    alter table ${table} enable row level security; alter table ${table} force row level security;
    create policy shown on ${table} for select using (true);
    create policy added on ${table} for insert with check (true);
    create policy changed on ${table} for update using (_external_id <> '2');
    create policy gone on ${table} for delete using (_external_id <> '3')`);
  try {
    await using destination = place.connect({ user: role, password: 'x' });
    await destination.open(claimOf(place.schema, { mode: 'update', columns: [] }));
    const rows = ['1', '2'].map((id) => rowOf(id, { owned: 'new' }));
    expect(await destination.apply(batchOf(rows))).toEqual([{ index: 1, externalId: '2', message: keptAway }]);
    expect(await itemValues(place, 'owned')).toEqual(['1 new', '2 x', '3 x']);
  } finally {
    await place.execute(`reassign owned by ${role} to current_user; drop owned by ${role}; drop role ${role}`);
  }
});

it('a generation is not switched where a trigger keeps a row, and the rows before it stay', async () => {
  await using place = await createPostgresPlace();
  const mode = 'replace';
  await deliver(place, { mode }, { rows: ['1', '2'].map((id) => rowOf(id, { a: 'old' })) });
  await keeping(place, 'delete or insert or update', "'2'");
  const rows = ['1', '2'].map((id) => rowOf(id, { a: 'new' }));
  await expect(deliver(place, { mode, fence: 2 }, { runId: 'run_2', rows })).rejects.toMatchObject({
    code: 'destination_rejected',
    message: expect.stringContaining('keeps some of them'),
  });
  expect(await itemValues(place, 'a')).toEqual(['1 old', '2 old']);
});
