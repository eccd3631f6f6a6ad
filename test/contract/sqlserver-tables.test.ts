/** The catalog and the rows of a SQL Server, and what the table check concludes from them. */
import { describe, expect, it } from 'vitest';
import { startLaneServer } from '../support/sqlserver/lane.ts';
import { bytesInRow, rowBytesMax } from '../support/sqlserver/row-size.ts';
import { connectFake, isBatch, laneScript, statementsOf, written } from '../support/sqlserver/script.ts';
import { type RequestReply, startTdsFake } from '../support/sqlserver/tds-fake.ts';
import type { TdsRow } from '../support/sqlserver/tds-tokens.ts';
import { batchOf, claimOf, columnOf, rowOf } from '../support/sync/batches.ts';

describe('a catalog with names in lower case', () => {
  it('lets columns be found whose names have capitals, at every open', async () => {
    await using server = await startLaneServer({ foldsNames: true });
    for (const fence of [1, 2]) {
      await using destination = connectFake(server);
      await destination.open(claimOf('dbo', { fence, columns: [columnOf('firstName', 'text')] }));
      const rows = [rowOf('1', { firstName: `Ada ${fence}` })];
      expect(await destination.apply(batchOf(rows, { batchNo: fence }))).toEqual([]);
    }
    expect(server.rows('items')).toMatchObject([{ _external_id: '1', firstName: 'Ada 2' }]);
  });

  it('keeps a column that is added for a new field with capitals', async () => {
    await using server = await startLaneServer({ foldsNames: true });
    await using destination = connectFake(server);
    await destination.open(claimOf('dbo', { columns: [columnOf('a', 'text')] }));
    expect(await destination.apply(batchOf([rowOf('1', { a: 'x', lastName: 'Lovelace' })]))).toEqual([]);
    await destination.apply(batchOf([rowOf('1', { a: 'x', lastName: 'King' })], { batchNo: 2 }));
    await destination.open(claimOf('dbo', { fence: 2, columns: [columnOf('a', 'text')] }));
    await destination.apply(batchOf([rowOf('2', { lastName: 'Byron' })], { batchNo: 3 }));
    expect(server.rows('items')).toMatchObject([{ lastName: 'King' }, { lastName: 'Byron' }]);
  });
});

describe('a row', () => {
  const columns = Array.from({ length: 400 }, (_, n) => columnOf(`n${n}`, 'numeric'));
  const data = Object.fromEntries(columns.map(({ name }) => [name, '12345678901234.5678']));

  it('of 400 numbers fits into its table, and so it can be staged', async () => {
    const texts = columns.map(({ name }) => ['nvarchar(40)', data[name]] as const);
    expect(bytesInRow(texts)).toBeGreaterThan(rowBytesMax);
    await using server = await startLaneServer();
    await using destination = connectFake(server);
    await destination.open(claimOf('dbo', { columns }));
    expect(await destination.apply(batchOf([rowOf('1', data), rowOf('2', { n399: '7' })]))).toEqual([]);
    expect(server.rows('items')).toMatchObject([
      { n0: '12345678901234.5678', n100: '12345678901234.5678', n399: '12345678901234.5678' },
      { n0: null, n399: '7.0000' },
    ]);
  });

  it('of more values than one temporary table has is put together by its place, which is a key', async () => {
    const many = columns.slice(0, 201).map(({ name }) => ({ name, type_name: 'int' }));
    await using server = await serverWith(many);
    await server.destination.open(claimOf('dbo', { columns: many.map(({ name }) => columnOf(name, 'integer')) }));
    await server.destination.apply(batchOf([rowOf('1', { n0: 1, n100: 2, n200: 3 })]));
    const made = statementsOf(server.fake).filter((sql) => /create table #rows/.test(sql));
    expect(made).toHaveLength(3);
    for (const sql of made) expect(sql).toContain('primary key (n)');
    expect(server.fake.requests.find(isBatch)?.sql).toContain(
      '#rows as r inner join #rows2 as r2 on r2.n = r.n inner join #rows3 as r3 on r3.n = r.n',
    );
  });
});

describe('a table', () => {
  it.each([1701, 1702])(
    'whose columns are too many for a row (error %d) is refused, with what to change',
    async (number) => {
      const message = "Creating or altering table 'items' failed because the minimum row size would be 9000.";
      await using fake = await startTdsFake(
        laneScript((request) => {
          if (request.kind === 'load') return undefined;
          if (/^\s*create table "dbo"\."items"/.test(request.sql)) return { number, message };
          return request.sql.includes('from sys.objects') ? [] : undefined;
        }),
      );
      await using destination = connectFake(fake);
      await expect(destination.open(claimOf('dbo'))).rejects.toMatchObject({
        code: 'destination_rejected',
        message: expect.stringMatching(/wider than a row.*name fewer in target\.columns/),
      });
    },
  );

  it.each([
    ['an INSTEAD OF trigger', 'from sys.triggers where parent_id = @id', { instead_trigger: 'divert' }],
    ['a security policy with a filter', 'where f.target_object_id = @id', { filter_policy: 'only_mine' }],
  ])('with %s is refused before a row of it is deleted or written', async (what, asks, row) => {
    await using server = await serverWith([], (sql, isItems) => (isItems && sql.includes(asks) ? [row] : undefined));
    await expect(server.destination.open(claimOf('dbo'))).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining(`"dbo"."items" has ${what}`),
    });
    expect(statementsOf(server.fake).filter((sql) => /declare @taken|alter table/.test(sql))).toEqual([]);
  });

  it('is claimed under locks that let one of two first claims wait for the other', async () => {
    await using fake = await startTdsFake(laneScript());
    await using destination = connectFake(fake);
    await destination.open(claimOf('dbo'));
    const claim = statementsOf(fake).find((sql) => sql.includes('declare @taken')) ?? '';
    expect(claim).toMatch(/update "dbo"\."_css_checkpoint" with \(updlock, serializable\)\s+set fence/);
  });
});

describe('columns of types that the service does not make', () => {
  it('count as what they stand for, and those that the server fills are not written', async () => {
    const found = [
      { name: 'v', type_name: 'varchar', bytes: 6, collation_name: 'Latin1_General_CI_AS' },
      { name: 'valid_from', type_name: 'datetime2', is_generated: 1 },
    ];
    await using server = await serverWith(found);
    await server.destination.open(claimOf('dbo', { columns: [columnOf('v', 'text')] }));
    const catalog = statementsOf(server.fake).find((sql) => sql.includes('from sys.columns')) ?? '';
    expect(catalog).toContain('coalesce(b.name, t.name) as type_name');
    expect(catalog).toContain('b on b.user_type_id = c.system_type_id');
    expect(catalog).toContain('c.generated_always_type <> 0');
    const rejected = await server.destination.apply(batchOf([rowOf('1', { valid_from: '2026-01-01' }), rowOf('2')]));
    expect(rejected).toMatchObject([{ externalId: '1', message: expect.stringContaining('the database computes') }]);
  });

  it('take a text of their code page, and the server says which it cannot hold', async () => {
    const found = [{ name: 'v', type_name: 'varchar', bytes: 6, collation_name: 'Latin1_General_CI_AS' }];
    let checks = 0;
    await using server = await serverWith(found, (sql) => {
      const [, first, second] = /then (-\d+) when datalength.* then (-\d+) end/.exec(sql) ?? [];
      if (second !== undefined) checks += 1;
      if (second !== undefined) issues = [Number(first), Number(second)];
      if (!sql.includes('issue is not null')) return undefined;
      return issues.map((issue, index) => ({ n: index + 1, issue, reason: null }));
    });
    let issues: readonly number[] = [];
    await server.destination.open(claimOf('dbo', { columns: [columnOf('v', 'text')] }));
    const rows = [rowOf('1', { v: 'Müller' }), rowOf('2', { v: '漢' }), rowOf('3', { v: 'Mü漢er' })];
    expect(await server.destination.apply(batchOf(rows))).toEqual([
      {
        index: 1,
        externalId: '2',
        message: expect.stringContaining('has characters that its varchar column cannot hold'),
      },
      { index: 2, externalId: '3', message: expect.stringContaining('is longer than the 6 bytes') },
    ]);
    const check = statementsOf(server.fake).find((sql) => sql.includes('datalength')) ?? '';
    expect(check).toContain('cast(r.c1 collate Latin1_General_CI_AS as varchar(max))');
    const [staged] = server.fake.requests.flatMap((request) => (request.kind === 'load' ? [request.rows] : []));
    expect(staged?.map((row) => row.at(-1))).toEqual(['Müller', '漢', 'Mü漢er']);
    await server.destination.apply(batchOf([rowOf('4', { v: 'Miller' })], { batchNo: 2 }));
    expect(checks).toBe(1);
  });

  it('keep binary values of any length, and the server says which are too long', async () => {
    const found = [{ name: 'b', type_name: 'varbinary', bytes: 200 }];
    await using server = await serverWith(found);
    await server.destination.open(claimOf('dbo', { columns: [columnOf('b', 'text')] }));
    await server.destination.apply(batchOf([rowOf('1', { b: 'x'.repeat(90) })]));
    const batch = server.fake.requests.find(isBatch)?.sql ?? '';
    expect(batch).toContain('cast(r.c1 as varbinary(max))');
    expect(batch).not.toContain('as varbinary)');
  });
});

/** A server whose table items has these columns beside those of the service. */
async function serverWith(
  columns: readonly Readonly<TdsRow>[],
  responding: (sql: string, isItems: boolean) => RequestReply | undefined = () => undefined,
) {
  const own = ['_connection_id', '_external_id', '_run_id', '_synced_at', '_deleted_at'];
  const row = (facts: TdsRow): TdsRow => ({
    bytes: 8,
    total_digits: 0,
    scale: 0,
    is_nullable: 1,
    is_generated: 0,
    has_default: 0,
    collation_name: null,
    ...facts,
  });
  const fake = await startTdsFake(
    laneScript((request) => {
      if (request.kind === 'load') return undefined;
      const isItems = request.kind === 'statements' && request.values['id'] === 11;
      if (request.sql.includes('from sys.columns') && isItems) {
        const ownColumns = own.map((name) => ({ name, type_name: 'nvarchar', bytes: 200, is_nullable: 0 }));
        const others = responding(request.sql, isItems);
        return [...[...ownColumns, ...columns].map(row), ...(Array.isArray(others) ? others : [])];
      }
      return isBatch(request) ? written : responding(request.sql, isItems);
    }),
  );
  const destination = connectFake(fake);
  return {
    fake,
    destination,
    async [Symbol.asyncDispose]() {
      await destination[Symbol.asyncDispose]();
      await fake[Symbol.asyncDispose]();
    },
  };
}
