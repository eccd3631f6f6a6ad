import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { openDatabase } from '../../db/client.ts';
import { openTestDatabase } from '../support/service/database.ts';
import { startTcpProxy } from '../support/service/tcp-proxy.ts';

it('fails the next statement and not the process when a connection breaks in the midst of a transaction', async () => {
  await using database = await openTestDatabase();
  const url = new URL(database.url);
  const proxy = await startTcpProxy(Number(url.port), { host: url.hostname });
  url.host = `127.0.0.1:${proxy.port}`;
  const uncaught: Error[] = [];
  const note = (error: Error) => void uncaught.push(error);
  process.on('uncaughtExceptionMonitor', note);
  const db = openDatabase(url.href, { poolSize: 1, applicationName: 'test', onIdleError() {} });
  const statements = db.connection().execute(async (connection) => {
    await sql`select 1`.execute(connection);
    await proxy[Symbol.asyncDispose]();
    await sql`select 2`.execute(connection);
  });
  await expect(statements).rejects.toThrow(/not queryable|terminated/);
  await db.destroy();
  process.off('uncaughtExceptionMonitor', note);
  expect(uncaught).toEqual([]);
});
