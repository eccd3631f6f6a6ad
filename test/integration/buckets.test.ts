import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../db/client.ts';
import { emptyBucket, takeToken } from '../../db/queries/connections/buckets.ts';
import { orgScope } from '../../db/scope.ts';
import { createDatabaseBuckets } from '../../src/connect/database-buckets.ts';
import { limitsOverBuckets } from '../../src/connect/limits-over-buckets.ts';
import type { NamedRateLimit } from '../../src/core/model/http.ts';
import { HttpSettings } from '../../src/core/spec/schema/http-schema.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { insertTestConnection } from '../support/service/rows.ts';

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

  it('gives several tokens together when the last of them is due', async () => {
    const take = await bucket({ requests: 1, perSeconds: 10, burst: 10 });
    expect([await take(60_000, 4), await take(60_000, 4)]).toEqual([0, 0]);
    const wait = await take(60_000, 4);
    expect(wait).toBeGreaterThan(19_000);
    expect(wait).toBeLessThanOrEqual(20_000);
  });

  it('that was emptied gives nothing until then, whichever process asks', async () => {
    const { orgId, connectionId } = await insertTestConnection(database.db);
    const scope = orgScope(orgId);
    const rate = { connectionId, name: 'http', requests: 10, perSeconds: 1, burst: 5 };
    await emptyBucket(database.db, scope, { rate, waitMs: 60_000 });
    await emptyBucket(database.db, scope, { rate, waitMs: 1000 });
    const wait = await takeToken(database.db, scope, { rate, waitMsMax: 10_000 });
    expect(wait).toBeGreaterThan(50_000);
    expect(wait).toBeLessThanOrEqual(60_000);
    const waits = [
      await takeToken(database.db, scope, { rate, waitMsMax: 100_000 }),
      await takeToken(database.db, scope, { rate, waitMsMax: 100_000 }),
    ];
    expect((waits[1] ?? 0) - (waits[0] ?? 0)).toBeGreaterThan(0);
  });
});

describe('the rate limits of a connection', () => {
  it('share what the spec gives to the org, and nothing else', async () => {
    const one = await insertTestConnection(database.db);
    const other = await insertTestConnection(database.db);
    const ofOrg = { scope: 'org', requests: 1, perSeconds: 100 };
    const waits = [
      await limits(one.orgId, one.connectionId, ofOrg).take(),
      await limits(one.orgId, 'con_of_the_same_org', ofOrg).take(),
      await limits(one.orgId, one.connectionId, ofOrg, 'another-spec').take(),
      await limits(other.orgId, other.connectionId, ofOrg).take(),
    ];
    expect(waits.map((wait) => wait > 0)).toEqual([false, true, false, false]);
  });

  it('ask the narrower bucket of a request first, and give its wait', async () => {
    const { orgId, connectionId } = await insertTestConnection(database.db);
    const { take } = limits(orgId, connectionId, { requests: 1000 });
    const narrow = { name: 'POST /search', ...rateLimit({ requests: 1, perSeconds: 100 }) };
    expect([await take(narrow), await take(), (await take(narrow)) > 90_000, await take()]).toEqual([0, 0, true, 0]);
  });

  it('take the tokens of a fast API several at a time, and no more than it gives', async () => {
    const { orgId, connectionId } = await insertTestConnection(database.db);
    const fast = { requests: 100, perSeconds: 1, burst: 50 };
    const startedAt = Date.now();
    const granted = await Promise.all(
      [1, 2].map(async () => {
        const { take } = limits(orgId, connectionId, fast);
        for (let count = 0; ; count += 1) if ((await take()) > 0) return count;
      }),
    );
    const total = granted.reduce((sum, count) => sum + count, 0);
    expect(total).toBeGreaterThanOrEqual(50 - 5);
    expect(total).toBeLessThanOrEqual(50 + ((Date.now() - startedAt) / 1000) * 100);
  });

  it('give up tokens that they have taken when the API says that nothing is left', async () => {
    const { orgId, connectionId } = await insertTestConnection(database.db);
    const headers = { remaining: 'X-Left', reset: 'X-Reset', resetFormat: 'seconds' };
    const { take, replied } = limits(orgId, connectionId, { requests: 1000, burst: 1000, headers });
    expect(await take()).toBe(0);
    await replied({ 'x-left': '0', 'x-reset': '40' });
    expect(await take()).toBeGreaterThan(30_000);
  });

  it.each([
    ['in seconds', 'seconds', '40'],
    ['as an instant of its own clock', 'epoch_s', String(Date.UTC(2030, 0, 1, 0, 0, 40) / 1000)],
    ['beyond what may be waited for', 'seconds', '4000000000'],
  ])('heed what the API says is left, %s', async (_how, resetFormat, reset) => {
    const { orgId, connectionId } = await insertTestConnection(database.db);
    const headers = { remaining: 'X-Left', reset: 'X-Reset', resetFormat };
    const { take, replied } = limits(orgId, connectionId, { requests: 1000, headers });
    const date = new Date(Date.UTC(2030, 0, 1)).toUTCString();
    await replied({ date, 'x-left': '1', 'x-reset': reset });
    await replied({ date, 'x-left': '0' });
    await replied({ date, 'x-reset': reset });
    expect(await take()).toBe(0);
    await replied({ date, 'x-left': '0', 'x-reset': reset });
    const wait = await take();
    expect(wait).toBeGreaterThan(30_000);
    expect(wait).toBeLessThanOrEqual(45_100);
  });
});

function limits(orgId: string, connectionId: string, limit: Readonly<Record<string, unknown>>, specKey = 'a-spec') {
  const retry = { maxAttempts: 1, baseMs: 1, maxMs: 1, maxWaitSeconds: 45 };
  const http = { rateLimit: rateLimit(limit), retry };
  const ports = limitsOverBuckets(createDatabaseBuckets(database.db, orgScope(orgId)), { connectionId, specKey, http });
  const url = new URL('https://api.example.com/');
  const request = { method: 'GET', url, headers: {}, timeoutMs: 1000, responseBytesMax: 1, allowedHosts: [] } as const;
  return {
    take: (own?: NamedRateLimit) =>
      ports.takeToken(own ? { ...request, rateLimit: own } : request, { reserveWithinMs: 1000 }),
    replied: (headers: Readonly<Record<string, string>>) =>
      ports.noteResponse(request, { status: 200, headers, body: new Uint8Array(), url }),
  };
}

/** As a spec has it, with every default. */
const rateLimit = (limit: Readonly<Record<string, unknown>>) =>
  v.parse(HttpSettings, { baseUrl: 'https://api.example.com', rateLimit: limit }).rateLimit;

async function bucket(rate: { readonly requests: number; readonly perSeconds: number; readonly burst: number }) {
  const { orgId, connectionId } = await insertTestConnection(database.db);
  return (waitMsMax: number, tokens = 1) =>
    takeToken(database.db, orgScope(orgId), { rate: { connectionId, name: 'http', ...rate }, tokens, waitMsMax });
}
