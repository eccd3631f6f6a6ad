import { describe, expect, it } from 'vitest';
import { connectFake, isBatch, laneScript, written } from '../support/sqlserver/script.ts';
import { startTdsFake } from '../support/sqlserver/tds-fake.ts';
import type { TdsRequest } from '../support/sqlserver/tds-requests.ts';
import { batchOf, claimOf, rowOf } from '../support/sync/batches.ts';

const claim = claimOf('dbo');
/** What one login may take; the pauses before a database is given up are as long in all. */
const limits = { connectMs: 1500, statementMs: 10_000, lockMs: 1000 };

const errorOf = (number: number) => ({ number, message: 'Not now, secret-user.' });
const unavailable = (number: number) => ({
  code: 'destination_unavailable',
  message: expect.stringMatching(new RegExp(`^(?!.*secret).*error ${number}`)),
});

/** A server that responds to the first `times` of such requests with an error. */
const failing = (number: number, { isMeant, times }: { isMeant: (asked: TdsRequest) => boolean; times: number }) => {
  let count = 0;
  const script = laneScript((request) => {
    if (!isMeant(request)) return undefined;
    count += 1;
    if (count <= times) return errorOf(number);
    return isBatch(request) ? written : [];
  });
  return { script, count: () => count };
};

const isLoad = ({ kind }: TdsRequest): boolean => kind === 'load';

describe('a login', () => {
  it.each([
    [18_401, 'the server upgrades its own scripts'],
    [17_187, 'the server is not ready yet'],
    [17_197, 'the login took the server too long'],
    [42_109, 'the pool is warming up'],
    [42_119, 'the database is paused'],
    [47_073, 'the public endpoint is closed'],
    [40_613, 'the database is waking up'],
    [40_197, 'the service fails over'],
    [40_501, 'the service is busy'],
    [10_928, 'there are too many workers'],
    [10_929, 'there are too few workers'],
    [49_918, 'there are too many logins'],
    [921, 'the database is not recovered yet'],
    [922, 'the database is being recovered'],
    [927, 'the database is being restored'],
    [952, 'the database is in transition'],
    [976, 'the replica takes no connections'],
    [983, 'the replica is resolving its role'],
  ])('that is refused with %i, since %s, may pass later', async (number) => {
    await using fake = await startTdsFake({ login: () => errorOf(number) });
    await using destination = connectFake(fake, {}, { limits });
    await expect(destination.open(claim)).rejects.toMatchObject(unavailable(number));
    expect(fake.logins).toBe(1);
  });

  it('finds a database that was away for a moment, as one that fails over is', async () => {
    let rejections = 2;
    await using fake = await startTdsFake({
      ...laneScript(),
      login: () => {
        rejections -= 1;
        return rejections < 0 ? 'ok' : errorOf(4060);
      },
    });
    await using destination = connectFake(fake, {}, { limits });
    expect(await destination.open(claim)).toEqual({ fresh: true, checkpoint: null });
    expect(fake.logins).toBe(3);
  });

  it('finds no database that stays away, and says so after six times', async () => {
    await using fake = await startTdsFake({ login: () => errorOf(4060) });
    await using destination = connectFake(fake, {}, { limits });
    await expect(destination.open(claim)).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('the database does not exist or the user may not open it'),
    });
    expect(fake.logins).toBe(6);
  });

  it('with a wrong password is tried once', async () => {
    await using fake = await startTdsFake({ login: () => errorOf(18_456) });
    await using destination = connectFake(fake, {}, { limits });
    await expect(destination.open(claim)).rejects.toMatchObject({ code: 'destination_login' });
    expect(fake.logins).toBe(1);
  });
});

describe('a batch', () => {
  it.each([
    [1205, 'a deadlock'],
    [1222, 'a lock that is held'],
    [3960, 'another version of a row'],
    [3961, 'another version of a table'],
    [41_302, 'another writer in memory'],
    [41_305, 'another reader in memory'],
    [41_325, 'another row in memory'],
  ])('that meets %i, %s, is written when it is repeated', async (number) => {
    const { script, count } = failing(number, { isMeant: isBatch, times: 2 });
    await using fake = await startTdsFake(script);
    await using destination = connectFake(fake, {}, { limits });
    await destination.open(claim);
    expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
    expect(count()).toBe(3);
  });

  it.each([
    922, 927, 952, 3906, 1204, 8645, 8651, 10_928, 10_929, 40_143, 40_197, 40_501, 40_540, 40_613, 49_918, 49_919,
  ])('that meets %i leaves it to a later attempt', async (number) => {
    const { script } = failing(number, { isMeant: isBatch, times: Number.POSITIVE_INFINITY });
    await using fake = await startTdsFake(script);
    await using destination = connectFake(fake, {}, { limits });
    await destination.open(claim);
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject(unavailable(number));
  });

  it.each([40_549, 40_550, 40_551, 40_552, 40_553])('that meets %i has lost its session', async (number) => {
    const { script } = failing(number, { isMeant: isBatch, times: 1 });
    await using fake = await startTdsFake(script);
    await using destination = connectFake(fake, {}, { limits });
    await destination.open(claim);
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject(unavailable(number));
    const asked = fake.requests.length;
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    expect(fake.requests).toHaveLength(asked);
    await destination.open(claimOf('dbo', { fence: 2 }));
    expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
  });

  it.each([
    ['its statement', isBatch],
    ['its bulk copy', isLoad],
  ])('is written when %s meets a number that says nothing, and is repeated', async (_, isMeant) => {
    const { script, count } = failing(33_557_097, { isMeant, times: 2 });
    await using fake = await startTdsFake(script);
    await using destination = connectFake(fake, {}, { limits });
    await destination.open(claim);
    expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
    expect(count()).toBe(3);
  });

  it.each([
    ['its statement', isBatch],
    ['its bulk copy', isLoad],
  ])('is left to a later attempt when %s meets such a number three times', async (_, isMeant) => {
    const { script, count } = failing(33_557_097, { isMeant, times: Number.POSITIVE_INFINITY });
    await using fake = await startTdsFake(script);
    await using destination = connectFake(fake, {}, { limits });
    await destination.open(claim);
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject(unavailable(33_557_097));
    expect(count()).toBe(3);
  });
});
