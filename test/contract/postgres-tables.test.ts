import { describe, expect, it, vi } from 'vitest';
import { createPostgresPlace } from '../support/destinations/postgres-kind.ts';
import { startTcpProxy } from '../support/service/tcp-proxy.ts';
import { batchOf, claimOf, columnOf, receiptOf, rowOf } from '../support/sync/batches.ts';

describe('other transactions', () => {
  it('repeats a batch that lost a deadlock', async () => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('a', 'text')] }));
    await destination.apply(batchOf([rowOf('1', { a: 'x' }), rowOf('2', { a: 'x' })]));
    const update = `update "${place.schema}".items set a = 'theirs' where _external_id = $1`;
    await place.query(`set deadlock_timeout = '1min'`);
    await place.query('begin');
    await place.query(update, ['2']);
    const applied = destination.apply(batchOf([rowOf('1', { a: 'ours' }), rowOf('2', { a: 'ours' })], { batchNo: 2 }));
    await vi.waitFor(async () => expect(await place.waiting()).toHaveLength(1));
    await place.query(update, ['1']);
    await place.query('commit');
    expect(await applied).toEqual([]);
    expect(await place.rows('items')).toMatchObject([{ a: 'ours' }, { a: 'ours' }]);
  });

  it('repeats a batch that could not be serialised', async () => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    await place.execute(failingTrigger(place.schema, { table: 'items', sqlstate: '40001', times: 2 }));
    expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
    expect(await place.rows('items')).toHaveLength(1);
  });

  it('gives up as unavailable when the conflict does not end', async () => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    await place.execute(failingTrigger(place.schema, { table: 'items', sqlstate: '40001', times: 1000 }));
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
  });

  it('leaves a conflict with which the server ends the session, as a standby does, to an attempt with a new one', async () => {
    await using place = await createPostgresPlace();
    const ending = (chunk: Buffer) =>
      Buffer.from(chunk.toString('latin1').replace('SERROR\0VERROR\0C40001', 'SFATAL\0VFATAL\0C40001'), 'latin1');
    await using proxy = await startTcpProxy(place.port, { host: place.host, tamper: ending });
    await using destination = place.connect({ port: proxy.port });
    await destination.open(claimOf(place.schema));
    await place.execute(failingTrigger(place.schema, { table: 'items', sqlstate: '40001', times: 1 }));
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({
      code: 'destination_unavailable',
      message: expect.stringContaining('40001'),
    });
    expect(await place.rows('items')).toEqual([]);
    expect(await destination.open(claimOf(place.schema, { fence: 2 }))).toEqual({ fresh: true, checkpoint: null });
    expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
    expect(await place.rows('items')).toHaveLength(1);
  });
});

describe('someone else who creates the same', () => {
  it.each([
    ['schema', 'create schema "$s"'],
    [
      'table',
      'create schema "$s"; commit; begin; create table "$s".items (_connection_id text, _external_id text, _run_id text, _synced_at timestamptz, _deleted_at timestamptz, primary key (_connection_id, _external_id))',
    ],
  ])('%s at the same moment, without our lock, is waited for and built upon', async (_, sql) => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    await place.execute(`begin; ${sql.replaceAll('$s', place.schema)}`);
    const opened = destination.open(claimOf(place.schema, { columns: [columnOf('a', 'text')] }));
    await vi.waitFor(async () => expect(await place.waiting()).toHaveLength(1));
    await place.execute('commit');
    expect(await opened).toEqual({ fresh: true, checkpoint: null });
    expect(await destination.apply(batchOf([rowOf('1', { a: 'x' })]))).toEqual([]);
  });
});

describe('what is there already', () => {
  it.each([
    ['a table of the customer', 'create table "$s".items (id int primary key, name text)'],
    [
      'a table with our key but without our columns',
      'create table "$s".items (_connection_id text, _external_id text, primary key (_connection_id, _external_id))',
    ],
    [
      'a table like ours without the key',
      'create table "$s".items (_connection_id text, _external_id text, _run_id text, _synced_at timestamptz, _deleted_at timestamptz)',
    ],
    ['a view', 'create view "$s".items as select 1 as id'],
    ['another table with the name of the checkpoint', 'create table "$s"._css_checkpoint (id int)'],
    ['another table with the name of that of owners', 'create table "$s"._css_tables (id int)'],
  ])('refuses %s and changes nothing', async (_, sql) => {
    await using place = await createPostgresPlace();
    await place.execute(`create schema "${place.schema}"; ${sql.replaceAll('$s', place.schema)}`);
    const before = await place.query('select relname from pg_class where relnamespace = $1::regnamespace', [
      place.schema,
    ]);
    await using destination = place.connect();
    await expect(destination.open(claimOf(place.schema, { columns: [columnOf('a', 'text')] }))).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('exists'),
    });
    const after = await place.query('select relname from pg_class where relnamespace = $1::regnamespace', [
      place.schema,
    ]);
    expect(after).toEqual(before);
  });

  it('fills columns of other types than wanted as far as values fit, without cutting or rounding to fit', async () => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    await place.execute(`alter table "${place.schema}".items
      add i integer, add v varchar(3), add t timestamp, add e inet, add n text not null default 'theirs'`);
    const columns = [
      columnOf('i', 'bigint'),
      columnOf('v', 'text'),
      columnOf('t', 'timestamptz'),
      columnOf('e', 'text'),
    ];
    await destination.open(claimOf(place.schema, { fence: 2, columns }));
    const rejected = await destination.apply(
      batchOf([
        rowOf('fits', { i: '7', v: 'abc', t: '2026-01-01T02:00:00+02:00', e: '10.0.0.1' }),
        rowOf('word', { i: 'seven' }),
        rowOf('long', { v: 'abcd' }),
        rowOf('checked by the server', { e: 'nowhere' }),
      ]),
    );
    expect(rejected.map(({ externalId }) => externalId)).toEqual(['word', 'long', 'checked by the server']);
    expect(rejected[2]?.message).not.toContain('nowhere');
    const stored = { i: '7', v: 'abc', t: '2026-01-01T00:00:00', e: '10.0.0.1', n: 'theirs' };
    expect(await place.rows('items')).toMatchObject([stored]);
  });

  it('counts characters and not their halves, and takes numbers between zero and full precision', async () => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    const columns = [columnOf('t', { kind: 'text', maxLength: 3 }), columnOf('f', 'float')];
    await destination.open(claimOf(place.schema, { columns }));
    expect(await destination.apply(batchOf([rowOf('1', { t: '👍👍👍', f: 5e-324 })]))).toEqual([]);
    expect(await place.rows('items')).toMatchObject([{ t: '👍👍👍', f: '5e-324' }]);
  });

  it('leaves columns that the customer added as they are', async () => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    await destination.apply(batchOf([rowOf('1', { a: 1 })]));
    await place.execute(
      `alter table "${place.schema}".items add note text, add twice bigint generated always as (a * 2) stored`,
    );
    await place.execute(`update "${place.schema}".items set note = 'call back'`);
    await destination.open(claimOf(place.schema, { fence: 2 }));
    const rejected = await destination.apply(batchOf([rowOf('1', { a: 2 }), rowOf('2', { twice: 9 })], { batchNo: 2 }));
    expect(rejected).toMatchObject([{ externalId: '2', message: expect.stringContaining('computes') }]);
    expect(await place.rows('items')).toMatchObject([{ a: '2', note: 'call back', twice: '4' }]);
  });

  it('lays a constraint that is checked at commit to the guilty row', async () => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('owner', 'bigint')] }));
    await place.execute(`create table "${place.schema}".owners (id bigint primary key);
      alter table "${place.schema}".items add constraint known foreign key (owner) references "${place.schema}".owners deferrable initially deferred`);
    const rejected = await destination.apply(batchOf([rowOf('1'), rowOf('2', { owner: 5 })]));
    expect(rejected).toMatchObject([{ externalId: '2', message: expect.stringContaining('known') }]);
    expect(await place.rows('items')).toMatchObject([{ _external_id: '1' }]);
  });

  it('rejects the record that a trigger refuses, without its words', async () => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    await place.execute(failingTrigger(place.schema, { table: 'items', sqlstate: 'P0001', times: 1000 }));
    const rejected = await destination.apply(batchOf([rowOf('1')]));
    expect(rejected).toMatchObject([{ externalId: '1', message: 'refused by a trigger (SQLSTATE P0001)' }]);
    expect(await destination.open(claimOf(place.schema, { fence: 2 }))).toMatchObject({
      checkpoint: { receipt: receiptOf(rejected) },
    });
  });

  it('reads a large receipt back, within the memory of the org', async () => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    const large = 'é'.repeat(2_000_000);
    await destination.apply(batchOf([rowOf('1')], { receipt: () => large }));
    const taken: number[] = [];
    const held = { hold: (bytes: number) => void taken.push(bytes), release: () => undefined };
    expect(await destination.open(claimOf(place.schema, { fence: 2, held }))).toMatchObject({
      checkpoint: { receipt: large },
    });
    expect(taken).toEqual([2 * 4_000_000]);
  });

  it('rejects record ids that no key can hold, and takes long ones', async () => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    const long = Array.from({ length: 2000 }, (_, index) => String.fromCharCode(33 + ((index * 7919) % 90))).join('');
    const rejected = await destination.apply(batchOf([rowOf(long), rowOf(`${long}x`), rowOf('a\0'), rowOf('\ud800')]));
    expect(rejected.map(({ externalId }) => externalId)).toEqual([`${long}x`, 'a\0', '\ud800']);
    expect(await place.rows('items')).toMatchObject([{ _external_id: long }]);
  });
});

/** A trigger that refuses the first inserts; a sequence counts, since it keeps its value through a rollback. */
const failingTrigger = (
  schema: string,
  { table, sqlstate, times }: { table: string; sqlstate: string; times: number },
) => `
  create sequence "${schema}".attempts;
  create function "${schema}".refuse() returns trigger language plpgsql as $$ begin
    if nextval('"${schema}".attempts') <= ${times} then raise exception 'their words' using errcode = '${sqlstate}'; end if;
    return new;
  end $$;
  create trigger refuse before insert on "${schema}"."${table}" for each row execute function "${schema}".refuse()`;
