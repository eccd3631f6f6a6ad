/** Whose a table is: an org writes, grows and drops its own, and its connections may share one. */
import { describe, expect, it } from 'vitest';
import { describeKinds, rowKinds } from '../support/destinations/destination-kinds.ts';
import { createPostgresPlace, type PostgresPlace } from '../support/destinations/postgres-kind.ts';
import { startLaneServer } from '../support/sqlserver/lane.ts';
import { connectFake, laneScript, statementsOf } from '../support/sqlserver/script.ts';
import { startTdsFake } from '../support/sqlserver/tds-fake.ts';
import { batchOf, claimOf, columnOf, rowOf } from '../support/sync/batches.ts';
import { deliver, itemValues } from '../support/sync/deliver.ts';

/** A connection of another org. */
const foreign = { orgId: 'org_2', lane: 'con_9/items', connectionId: 'con_9' } as const;

const refused = {
  code: 'destination_rejected',
  message: expect.stringMatching(/^(?!.*org_1).*belongs to another org of this service/),
};

describeKinds(rowKinds, ': a table', (kind) => {
  it('of one org is not opened by another, whose columns it does not get', async () => {
    await using place = await kind.createPlace();
    await deliver(place, {}, { rows: [rowOf('1', { a: 'x' })] });
    const columns = [columnOf('a', 'bigint'), columnOf('squat', 'text')];
    await expect(deliver(place, { ...foreign, columns }, { rows: [rowOf('2', { a: 1 })] })).rejects.toMatchObject(
      refused,
    );
    await using destination = place.connect({ orgId: foreign.orgId });
    await expect(destination.check([claimOf(place.schema, { columns }).target])).rejects.toMatchObject(refused);
    const [row, ...others] = await place.rows('items');
    expect(row).toMatchObject({ _external_id: '1', a: 'x' });
    expect(row).not.toHaveProperty('squat');
    expect(others).toEqual([]);
  });

  it('is shared by the connections of an org, and grows for each of them', async () => {
    await using place = await kind.createPlace();
    await deliver(place, {}, { rows: [rowOf('1', { a: 'x' })] });
    await deliver(place, { lane: 'con_2/items', connectionId: 'con_2' }, { rows: [rowOf('1', { b: 'y' })] });
    expect(await place.rows('items')).toMatchObject([
      { _connection_id: 'con_1', a: 'x', b: null },
      { _connection_id: 'con_2', a: null, b: 'y' },
    ]);
  });

  it('is of one of two orgs that make it at once; the other is refused', async () => {
    await using place = await kind.createPlace();
    const both = [deliver(place, {}, { rows: [rowOf('1')] }), deliver(place, foreign, { rows: [rowOf('2')] })];
    const [one, other] = await Promise.allSettled(both);
    const reasons = [one, other].flatMap((result) => (result?.status === 'rejected' ? [result.reason] : []));
    expect(reasons).toEqual([expect.objectContaining({ code: 'destination_rejected' })]);
    expect(await place.rows('items')).toHaveLength(1);
  });
});

describe('postgres: a table', () => {
  const disown = ({ schema, execute }: PostgresPlace) => execute(`drop table "${schema}"._css_tables`);

  it('of before owners were recorded is taken by the first org that writes it', async () => {
    await using place = await createPostgresPlace();
    await deliver(place, {}, { rows: [rowOf('1')] });
    await disown(place);
    expect(await deliver(place, { fence: 2 })).toBe(false);
    await expect(deliver(place, foreign)).rejects.toMatchObject(refused);
    const owners = await place.query(`select table_name, org_id from "${place.schema}"._css_tables`);
    expect(owners).toEqual([{ table_name: 'items', org_id: 'org_1' }]);
  });

  it('of before is taken by one of two orgs at once; the other changes nothing of it', async () => {
    await using place = await createPostgresPlace();
    await deliver(place, {}, { rows: [rowOf('1')] });
    for (let round = 1; round <= 5; round += 1) {
      await disown(place);
      const columns = [columnOf(`n${round}`, 'text')];
      const claims = [{ fence: 1 + round }, { ...foreign, fence: 1 + round, columns }];
      const results = await Promise.allSettled(claims.map((claim) => deliver(place, claim)));
      expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1);
      const [owner] = await place.query(`select org_id from "${place.schema}"._css_tables`);
      const isGrown = Object.keys(await place.columnTypes('items')).includes(`n${round}`);
      expect(isGrown).toBe(owner?.['org_id'] === foreign.orgId);
    }
  });

  it('that the customer made is recorded for nobody', async () => {
    await using place = await createPostgresPlace();
    await place.execute(`create schema "${place.schema}"; create table "${place.schema}".items (id int)`);
    await expect(deliver(place, {})).rejects.toMatchObject({ code: 'destination_rejected' });
    expect(await place.query('select to_regclass($1) as owners', [`${place.schema}._css_tables`])).toEqual([
      { owners: null },
    ]);
  });

  it('that was dropped is of whoever makes it again', async () => {
    await using place = await createPostgresPlace();
    await deliver(place, {}, { rows: [rowOf('1')] });
    await place.execute(`drop table "${place.schema}".items`);
    await deliver(place, foreign, { rows: [rowOf('2')] });
    await expect(deliver(place, { fence: 2 })).rejects.toMatchObject(refused);
  });

  it('that another org got meanwhile gets no column from a lane that is open', async () => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    await place.execute(`update "${place.schema}"._css_tables set org_id = 'org_2'`);
    await expect(destination.apply(batchOf([rowOf('1', { late: 'x' })]))).rejects.toMatchObject(refused);
    expect(Object.keys(await place.columnTypes('items'))).not.toContain('late');
  });

  it('keeps what its org gathers to replace it, whatever another org tries', async () => {
    await using place = await createPostgresPlace();
    const mode = 'replace';
    await deliver(place, { mode }, { rows: [rowOf('1')] });
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { mode, fence: 2 }));
    await destination.apply(batchOf([rowOf('2')], { runId: 'run_2' }));
    for (const other of ['replace', 'upsert', 'append', 'update'] as const) {
      const columns = [columnOf(`${other}_more`, 'text')];
      await expect(deliver(place, { ...foreign, mode: other, columns })).rejects.toMatchObject(refused);
    }
    await destination.apply(batchOf([rowOf('3')], { runId: 'run_2', batchNo: 2, completesGeneration: true }));
    expect(await itemValues(place, '_run_id')).toEqual(['2 run_2', '3 run_2']);
  });

  it('keeps what one connection gathers while another one of the org adds columns and gathers beside it', async () => {
    await using place = await createPostgresPlace();
    const mode = 'replace';
    const beside = { lane: 'con_2/items', connectionId: 'con_2' };
    await deliver(place, { mode }, { rows: [rowOf('1')] });
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { mode, fence: 2 }));
    await destination.apply(batchOf([rowOf('2')], { runId: 'run_2' }));
    const grown = [columnOf('price', 'numeric'), columnOf('note', 'text')];
    await deliver(place, { ...beside, mode: 'upsert', columns: grown });
    await deliver(place, { ...beside, mode, fence: 2 }, { runId: 'run_3', rows: [rowOf('9', { price: '1.5' })] });
    await destination.apply(batchOf([rowOf('3')], { runId: 'run_2', batchNo: 2, completesGeneration: true }));
    expect(await itemValues(place, 'price')).toEqual(['2 null', '3 null', '9 1.5000']);
    expect(await place.columnTypes('_css_next_items')).toMatchObject({ price: 'numeric(18,4)', note: 'text' });
  });
});

describe('sqlserver: a table', () => {
  it('of before owners were recorded is taken by the first org that writes it', async () => {
    let isRecorded = false;
    await using fake = await startTdsFake(
      laneScript((request) => {
        if (request.kind === 'load') return undefined;
        if (request.sql.includes('insert into "dbo"."_css_tables"')) isRecorded = true;
        return request.sql.includes('select org_id as org_id') && !isRecorded ? [] : undefined;
      }),
    );
    await using destination = connectFake(fake);
    await destination.open(claimOf('dbo'));
    const taking = statementsOf(fake).filter((sql) => sql.includes('insert into "dbo"."_css_tables"'));
    expect(taking).toEqual([expect.stringContaining(`values (N'items', N'org_1', `)]);
  });

  it('of before is not changed where another org was faster: the key of its row decides', async () => {
    let isRecorded = false;
    await using fake = await startTdsFake(
      laneScript((request) => {
        if (request.kind === 'load') return undefined;
        if (request.sql.includes('select org_id as org_id')) return isRecorded ? [{ org_id: 'org_2' }] : [];
        if (!request.sql.includes('insert into "dbo"."_css_tables"')) return undefined;
        isRecorded = true;
        return { number: 2627, message: 'Violation of PRIMARY KEY constraint.' };
      }),
    );
    await using destination = connectFake(fake);
    await expect(destination.open(claimOf('dbo', { columns: [columnOf('more', 'text')] }))).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringMatching(/^(?!.*org_2).*belongs to another org/),
    });
    expect(statementsOf(fake).filter((sql) => /alter table|drop table if exists "/.test(sql))).toEqual([]);
  });

  it('gets a column for a field only while it is recorded for the org', async () => {
    await using server = await startLaneServer();
    await using one = connectFake(server);
    await one.open(claimOf('dbo'));
    await one.apply(batchOf([rowOf('1', { a: 'x' })]));
    await using other = connectFake(server, {}, { orgId: 'org_2' });
    await expect(other.open(claimOf('dbo', { ...foreign, columns: [columnOf('b', 'text')] }))).rejects.toMatchObject(
      refused,
    );
    await one.apply(batchOf([rowOf('2', { c: 'y' })], { batchNo: 2 }));
    expect(server.rows('items')).toMatchObject([{ a: 'x' }, { c: 'y' }]);
    expect(Object.keys(server.rows('items')[1] ?? {})).not.toContain('b');
  });
});
