import { expect, it } from 'vitest';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { connect } from '../support/sync/connected.ts';
import { incrementalBy, since } from '../support/sync/use-connections.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useSharedService({ reply: api.reply });

type Row = Readonly<Record<string, unknown>>;

/** A resource with a cursor: what was read once is not read again. */
async function serving(name: string, list: { rows: readonly Row[] }, resource: Row) {
  api.serve(name, (query) => {
    const from = query.get('since') ?? '';
    return { body: list.rows.filter((row) => String(row['at']) > from) };
  });
  const { stack, upstream } = shared();
  return await connect(stack, {
    upstream,
    name,
    resource: { request: since(name), incremental: incrementalBy('at'), ...resource },
  });
}

const at = (day: number) => `2025-06-0${day}T00:00:00.000Z`;

it('a record of mode update is written once its row is there, although it is not fetched again', async () => {
  const name = 'scores';
  const list = { rows: [1, 2, 3].map((id) => ({ id, score: id * 10, at: at(id) })) };
  const of = await serving(name, list, { target: { table: name, mode: 'update' } });
  const own = (id: number) =>
    of.destination.query(`
    insert into ${name} (_connection_id, _external_id, _run_id, _synced_at) values ('${of.id}', '${id}', 'own', now())`);
  await of.destination.query(`
    create table ${name} (_connection_id text, _external_id text, _run_id text, _synced_at timestamptz,
      _deleted_at timestamptz, primary key (_connection_id, _external_id))`);
  await own(1);
  await own(2);
  const counts = (recordsOut: number, skipped: number) => ({ statsJson: { recordsOut, skipped, quarantined: 0 } });
  const first = await of.sync();
  expect(first).toMatchObject({ status: 'succeeded', notes: { row_missing: 1 }, ...counts(2, 1) });
  expect(await of.sync()).toMatchObject({ status: 'succeeded', notes: { row_missing: 1 }, ...counts(0, 1) });
  await own(3);
  expect(await of.sync()).toMatchObject({ status: 'succeeded', ...counts(1, 0) });
  expect((await of.rows()).map(({ score }) => score)).toEqual(['10', '20', '30']);
  expect(await of.sync()).toMatchObject({ status: 'succeeded', ...counts(0, 0) });
});

it('a deletion that the table refuses is made by the first run that can, although its record is not fetched again', async () => {
  const name = 'kept_rows';
  const list: { rows: readonly Row[] } = { rows: [1, 2].map((id) => ({ id, gone: false, at: at(id) })) };
  const of = await serving(name, list, { deletes: { mode: 'flag', when: 'gone', effect: 'hard' } });
  await of.sync();
  await of.destination.query(`
    create function keep() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger keep before delete on ${name} for each row execute function keep()`);
  list.rows = [{ id: 1, gone: true, at: at(3) }];
  const refused = { statsJson: { deleted: 0 }, status: 'partial', notes: { delete_refused: 1 } };
  expect(await of.sync()).toMatchObject(refused);
  expect(await of.sync()).toMatchObject(refused);
  await of.destination.query(`drop trigger keep on ${name}`);
  expect(await of.sync()).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1, quarantined: 0 } });
  expect((await of.rows()).map(({ id }) => id)).toEqual(['2']);
  expect(await of.sync()).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0, recordsIn: 0 } });
});

it('a deletion that the table refuses is found again by the next complete read', async () => {
  const name = 'kept_by_scan';
  let rows: readonly Row[] = [1, 2, 3].map((id) => ({ id }));
  api.serve(name, () => ({ body: rows }));
  const { stack, upstream } = shared();
  const of = await connect(stack, { upstream, name, resource: { deletes: { mode: 'full_scan', effect: 'hard' } } });
  await of.sync();
  await of.destination.query(`
    create function keep_scanned() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger keep before delete on ${name} for each row execute function keep_scanned()`);
  rows = [{ id: 1 }, { id: 2 }];
  expect(await of.sync()).toMatchObject({ status: 'partial', statsJson: { deleted: 0 }, notes: { delete_refused: 1 } });
  await of.destination.query(`drop trigger keep on ${name}`);
  expect(await of.sync()).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
  expect((await of.rows()).map(({ id }) => id)).toEqual(['1', '2']);
});
