import { afterAll, beforeAll, expect, it } from 'vitest';
import { openCallLog } from '../../activities/call-log.ts';
import { listCalls } from '../../db/queries/runs/calls.ts';
import { insertRun } from '../../db/queries/runs/runs.ts';
import { orgScope } from '../../db/scope.ts';
import { newCall } from '../support/service/calls.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { newRun } from '../support/service/receipts.ts';
import { insertTestConnection } from '../support/service/rows.ts';

const call = {
  ...newCall({ runId: '', sequence: 0 }),
  durationMs: 12,
  reqHeadersRedacted: {},
  respHeaders: {},
  errorCode: null,
};

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

it('has stored the calls so far, also while there is no end of them', async () => {
  const { log, write, sequences } = await openLog();
  let isOver = false;
  const writeOn = (): void => {
    if (isOver) return;
    write();
    setImmediate(writeOn);
  };
  write();
  write();
  writeOn();
  const written = 3;
  await log.stored();
  isOver = true;
  expect((await sequences()).slice(0, written)).toEqual([1, 2, 3]);
  await log.stored();
});

it('stores by itself what nobody waits for, and goes on behind the calls of an earlier attempt', async () => {
  const { log, write, sequences, reopen } = await openLog();
  write();
  await log.stored();
  const later = await reopen();
  later.write(call);
  await expect.poll(sequences).toEqual([1, 2]);
});

it('fails for as long as a call cannot be stored, and loses none', async () => {
  const { log, write, sequences } = await openLog();
  const { db } = database;
  const rename = (from: string, to: string) => db.schema.alterTable(from).renameTo(to).execute();
  await rename('callLog', 'awayLog');
  write();
  await expect(log.stored()).rejects.toThrow('call_log');
  await rename('awayLog', 'callLog');
  write();
  await log.stored();
  expect(await sequences()).toEqual([1, 2]);
});

async function openLog() {
  const { orgId, connectionId } = await insertTestConnection(database.db);
  const scope = orgScope(orgId);
  const { id: runId } = await insertRun(database.db, scope, newRun(connectionId));
  const reopen = () => openCallLog(database.db, scope, { runId, isFirst: false });
  const log = await reopen();
  return {
    log,
    reopen,
    write: () => log.write(call),
    async sequences() {
      const { rows } = await listCalls(database.db, scope, runId);
      const calls = await Array.fromAsync(rows);
      return calls.map(({ sequence }) => sequence);
    },
  };
}
