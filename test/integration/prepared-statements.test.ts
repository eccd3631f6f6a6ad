import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { openDatabase } from '../../db/client.ts';
import { openTestDatabase } from '../support/service/database.ts';
import { startRenamingProxy } from '../support/service/renaming-proxy.ts';

it('statements are prepared on their third use, those without values never', async () => {
  await using database = await openTestDatabase();
  const db = openDatabase(database.url, { poolSize: 1, applicationName: 'test', onIdleError() {} });
  const prepared = async () => {
    const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(db);
    return rows.map(({ statement }) => statement);
  };
  const ask = (value: number) => sql<{ n: number }>`select ${value}::int + 1 as n`.execute(db);
  for (const value of [1, 2]) expect((await ask(value)).rows).toEqual([{ n: value + 1 }]);
  expect(await prepared()).toEqual([]);
  for (const value of [3, 4]) expect((await ask(value)).rows).toEqual([{ n: value + 1 }]);
  for (let time = 0; time < 4; time += 1) await sql`select 1`.execute(db);
  expect(await prepared()).toEqual(['select $1::int + 1 as n']);
  await db.destroy();
});

it('a prepared statement that fails in one transaction works in the next', async () => {
  await using database = await openTestDatabase();
  const db = openDatabase(database.url, { poolSize: 1, applicationName: 'test', onIdleError() {} });
  const divide = (by: number) => sql<{ n: number }>`select 10 / ${by}::int as n`.execute(db);
  for (const by of [1, 2, 5]) await divide(by);
  await expect(db.transaction().execute((tx) => sql`select 10 / ${0}::int`.execute(tx))).rejects.toThrow('zero');
  await expect(divide(0)).rejects.toThrow('zero');
  expect((await divide(5)).rows).toEqual([{ n: 2 }]);
  await db.destroy();
});

it('nothing is prepared behind a pooler, which gives another connection to each transaction', async () => {
  await using database = await openTestDatabase();
  const url = new URL(database.url);
  await using pooler = await startRenamingProxy(Number(url.port));
  url.port = String(pooler.port);
  const db = openDatabase(url.href, { poolSize: 1, applicationName: 'test', onIdleError() {} });
  for (const value of [1, 2, 3, 4]) await sql`select ${value}::int + 1 as n`.execute(db);
  expect((await sql`select statement from pg_prepared_statements`.execute(db)).rows).toEqual([]);
  await db.destroy();
});
