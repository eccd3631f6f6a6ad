import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { connectFake, laneScript } from '../support/sqlserver/script.ts';
import { startTdsFake } from '../support/sqlserver/tds-fake.ts';
import type { TdsLogin } from '../support/sqlserver/tds-login.ts';
import { batchOf, claimOf, rowOf } from '../support/sync/batches.ts';

const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), 'utf8');
const tls = { cert: fixture('db.test.crt'), key: fixture('db.test.key') };
const claim = claimOf('dbo');

describe('encryption', () => {
  it('connects only when the certificate is of the name, by an authority that the customer gave', async () => {
    await using fake = await startTdsFake({ ...laneScript(), tls });
    await using destination = connectFake(fake, { host: 'db.test', encrypt: true, ca: tls.cert });
    expect(await destination.open(claim)).toEqual({ fresh: true, checkpoint: null });
  });

  it.each([
    ['the authority is unknown', { host: 'db.test' }],
    ['the certificate is of another name', { host: 'other.test', ca: tls.cert }],
    ['the certificate is of a name and the customer gave an address', { ca: tls.cert }],
  ])('is rejected when %s', async (_, changes) => {
    await using fake = await startTdsFake({ ...laneScript(), tls });
    await using destination = connectFake(fake, { encrypt: true, ...changes });
    await expect(destination.open(claim)).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('certificate'),
    });
  });

  it('never falls back to plain text', async () => {
    await using fake = await startTdsFake(laneScript());
    await using destination = connectFake(fake, { encrypt: true });
    await expect(destination.open(claim)).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('encryption'),
    });
    expect(fake.requests).toEqual([]);
  });

  describe('before the first message (TDS 8)', () => {
    const strict = { ...laneScript(), tls, isStrict: true };

    it('connects only when the certificate is of the name, by an authority that the customer gave', async () => {
      const logins: TdsLogin[] = [];
      await using fake = await startTdsFake({ ...strict, login: (login) => (logins.push(login) ? 'ok' : 'cut') });
      await using destination = connectFake(fake, { host: 'db.test', encrypt: 'strict', ca: tls.cert });
      expect(await destination.open(claim)).toEqual({ fresh: true, checkpoint: null });
      expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
      expect(logins).toEqual([{ user: 'sync', password: 'very-secret', database: 'shop', token: null }]);
    });

    it.each([
      ['the authority is unknown', { host: 'db.test' }],
      ['the certificate is of another name', { host: 'other.test', ca: tls.cert }],
    ])('is rejected when %s', async (_, changes) => {
      await using fake = await startTdsFake(strict);
      await using destination = connectFake(fake, { encrypt: 'strict', ...changes });
      await expect(destination.open(claim)).rejects.toMatchObject({
        code: 'destination_rejected',
        message: expect.stringContaining('certificate'),
      });
      expect(fake.logins).toBe(0);
    });

    it('never falls back to encryption that is agreed on in plain text', async () => {
      await using fake = await startTdsFake({ ...laneScript(), tls });
      const limits = { connectMs: 1000, statementMs: 1000, lockMs: 50 };
      await using destination = connectFake(fake, { host: 'db.test', encrypt: 'strict', ca: tls.cert }, { limits });
      await expect(destination.open(claim)).rejects.toMatchObject({ code: 'destination_unavailable' });
      expect(fake.logins).toBe(0);
    });

    it('leaves what comes in counted', async () => {
      const flood = [{ a: 'x'.repeat(40_000_000) }];
      const script = laneScript(({ kind }) => (kind === 'statements' ? flood : undefined));
      await using fake = await startTdsFake({ ...strict, ...script });
      await using destination = connectFake(fake, { host: 'db.test', encrypt: 'strict', ca: tls.cert });
      await expect(destination.open(claim)).rejects.toMatchObject({
        code: 'destination_rejected',
        message: expect.stringContaining('more than was requested'),
      });
    });
  });
});
