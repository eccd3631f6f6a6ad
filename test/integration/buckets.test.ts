import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../db/client.ts';
import { takeToken } from '../../db/queries/buckets.ts';
import { orgScope } from '../../db/scope.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertTestConnection } from '../support/rows.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

describe('a token bucket', () => {
  it('gives a burst at once and spaces the rest', async () => {
    const take = await bucket({ requests: 1, perSeconds: 10, burst: 3 });
    const waits = [await take(60_000), await take(60_000), await take(60_000), await take(60_000), await take(60_000)];
    expect(waits.slice(0, 3)).toEqual([0, 0, 0]);
    expect(waits[3]).toBeGreaterThan(9_000);
    expect(waits[3]).toBeLessThanOrEqual(10_000);
    expect(waits[4]).toBeGreaterThan(19_000);
  });

  it('reserves nothing when the wait is longer than the caller will stay', async () => {
    const take = await bucket({ requests: 1, perSeconds: 100, burst: 1 });
    expect(await take(1000)).toBe(0);
    const refused = [await take(1000), await take(1000), await take(1000)];
    for (const wait of refused) {
      expect(wait).toBeGreaterThan(90_000);
      expect(wait).toBeLessThanOrEqual(100_000);
    }
  });

  it('holds the rate across connections to the database, as across processes', async () => {
    const { orgId, connectionId } = await insertTestConnection(database.db);
    const rate = { connectionId, name: 'http', requests: 1, perSeconds: 1000, burst: 10 };
    const processes = Array.from({ length: 4 }, () =>
      openDatabase(database.url, { poolSize: 2, applicationName: 'test', onIdleError() {} }),
    );
    const takes = processes.flatMap((db) =>
      Array.from({ length: 25 }, () => takeToken(db, orgScope(orgId), { rate, waitMsMax: 0 })),
    );
    const granted = (await Promise.all(takes)).filter((waitMs) => waitMs === 0);
    await Promise.all(processes.map((db) => db.destroy()));
    expect(granted).toHaveLength(10);
  });
});

async function bucket(rate: { readonly requests: number; readonly perSeconds: number; readonly burst: number }) {
  const { orgId, connectionId } = await insertTestConnection(database.db);
  return (waitMsMax: number) =>
    takeToken(database.db, orgScope(orgId), { rate: { connectionId, name: 'http', ...rate }, waitMsMax });
}
