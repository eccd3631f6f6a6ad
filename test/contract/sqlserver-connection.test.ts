import { describe, expect, it } from 'vitest';
import { parseAllowList } from '../../src/core/http/addresses.ts';
import { createEgressGuard } from '../../src/core/http/egress.ts';
import { egressBlocked } from '../../src/core/http/egress-blocked.ts';
import { sqlServerUrl } from '../support/sqlserver/kind.ts';
import { connectFake, isBatch, laneScript, openGuard, statementsOf } from '../support/sqlserver/script.ts';
import { startSilentListener } from '../support/sqlserver/silent-listener.ts';
import { startTdsFake } from '../support/sqlserver/tds-fake.ts';
import { batchOf, claimOf, rowOf } from '../support/sync/batches.ts';
import { serveRaw } from '../support/upstream/guarded-client.ts';

const claim = claimOf('dbo');
const hasty = { connectMs: 100, statementMs: 100, lockMs: 50 };

it.skipIf(sqlServerUrl() === null)('runs the conformance suite too: TEST_SQLSERVER_URL names a server for it', () => {
  expect(sqlServerUrl()?.protocol).toBe('sqlserver:');
});

describe('a server that does not let us in', () => {
  it.each([
    ['a wrong password', 18_456, 'destination_login'],
    ['a refusal that it does not number as others do', 33_557_097, 'destination_login'],
    ['a database that is not there', 4060, 'destination_rejected'],
    ['a database that wakes up', 40_613, 'destination_unavailable'],
  ])('tells %s from others, without its words', async (_, number, code) => {
    await using fake = await startTdsFake({ login: () => ({ number, message: 'Cannot let secret-user in.' }) });
    await using destination = connectFake(fake, {}, { limits: { connectMs: 1500, statementMs: 1500, lockMs: 50 } });
    const error: unknown = await destination.open(claim).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, message: expect.not.stringMatching(/secret/) });
  });

  it('is unavailable when nothing listens', async () => {
    const gone = await startTdsFake();
    await gone[Symbol.asyncDispose]();
    await using destination = connectFake(gone);
    await expect(destination.open(claim)).rejects.toMatchObject({
      code: 'destination_unavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('is used once it is up', async () => {
    const down = await startTdsFake(laneScript());
    await down[Symbol.asyncDispose]();
    await using destination = connectFake(down);
    await expect(destination.open(claim)).rejects.toMatchObject({ code: 'destination_unavailable' });
    await using up = await startTdsFake(laneScript(), down);
    await destination.open(claim);
    expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
    expect(up.requests.filter(isBatch)).toHaveLength(1);
  });

  it.each([
    ['accepts and says nothing', () => undefined],
    ['hangs up', (socket: { destroy(): void }) => socket.destroy()],
  ])('is unavailable when it %s', async (_, serve) => {
    await using silent = await serveRaw(serve);
    await using destination = connectFake(silent, {}, { limits: hasty });
    await expect(destination.open(claim)).rejects.toMatchObject({ code: 'destination_unavailable' });
  });
});

describe('where the socket goes', () => {
  it('is checked anew for each server that another one names', async () => {
    await using target = await startTdsFake(laneScript());
    await using first = await startTdsFake({ login: () => ({ route: { host: 'node.test', port: target.port } }) });
    const vetted: [string, number][] = [];
    const guard: typeof openGuard = {
      ...openGuard,
      vetHost: (host, port) => {
        vetted.push([host, port]);
        return openGuard.vetHost(host, port);
      },
    };
    await using destination = connectFake(first, { host: 'db.test' }, { guard });
    expect(await destination.open(claim)).toEqual({ fresh: true, checkpoint: null });
    expect(vetted).toEqual([
      ['db.test', first.port],
      ['node.test', target.port],
    ]);
    expect(first.requests).toEqual([]);
  });

  it('is not the forbidden address that a server names', async () => {
    await using target = await startTdsFake(laneScript());
    await using first = await startTdsFake({ login: () => ({ route: { host: '127.0.0.1', port: target.port } }) });
    const guard: typeof openGuard = {
      ...openGuard,
      vetHost: async (host, port) => {
        if (port !== first.port) throw egressBlocked('address');
        return openGuard.vetHost(host, port);
      },
    };
    await using destination = connectFake(first, {}, { guard });
    await expect(destination.open(claim)).rejects.toMatchObject({ code: 'egress_blocked' });
    expect(target.requests).toEqual([]);
  });

  it('is no third server that another one names', async () => {
    let port = 0;
    let logins = 0;
    await using circle = await startTdsFake({
      login: () => {
        logins += 1;
        return { route: { host: '127.0.0.1', port } };
      },
    });
    port = circle.port;
    await using destination = connectFake(circle);
    await expect(destination.open(claim)).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('redirects more than 2 times'),
    });
    expect(logins).toBe(3);
  });

  it('is in plain text no address that the operator has not listed, nor one that a server names', async () => {
    await using target = await startTdsFake(laneScript());
    await using first = await startTdsFake({ login: () => ({ route: { host: '127.0.0.1', port: target.port } }) });
    const guard: typeof openGuard = {
      ...openGuard,
      vetHost: async (_, port) => [{ address: '127.0.0.1', family: 4, allowListed: port === first.port }],
    };
    await using destination = connectFake(first, {}, { guard });
    await expect(destination.open(claim)).rejects.toMatchObject({ code: 'egress_blocked' });
    await using direct = connectFake(target, {}, { guard });
    await expect(direct.open(claim)).rejects.toMatchObject({ code: 'egress_blocked' });
    expect(target.requests).toEqual([]);
  });
});

describe('a host of several addresses', () => {
  const addressesOf = (...addresses: readonly string[]): typeof openGuard => ({
    ...openGuard,
    vetHost: async () => addresses.map((address) => ({ address, family: 4, allowListed: true })),
  });

  it.skipIf(process.platform !== 'linux')(
    'is reached long before a login is given up, though the first of them says nothing',
    async () => {
      await using fake = await startTdsFake(laneScript());
      await using _ = await startSilentListener({ host: '127.0.0.2', port: fake.port });
      await using destination = connectFake(fake, {}, { guard: addressesOf('127.0.0.2', '127.0.0.1') });
      const startedAt = performance.now();
      expect(await destination.open(claim)).toEqual({ fresh: true, checkpoint: null });
      expect(performance.now() - startedAt).toBeLessThan(5000);
    },
  );

  it('is reached when nothing listens at the first of them', async () => {
    await using fake = await startTdsFake(laneScript());
    await using destination = connectFake(fake, {}, { guard: addressesOf('127.0.0.2', '127.0.0.1') });
    expect(await destination.open(claim)).toEqual({ fresh: true, checkpoint: null });
  });

  it('is not reached at all when the guard refuses it', async () => {
    await using fake = await startTdsFake(laneScript());
    const guard = createEgressGuard({
      allow: parseAllowList(`127.0.0.1:${fake.port}`),
      deny: [],
      allowHttp: false,
      lookup: async () => ['127.0.0.1', '169.254.169.254'],
    });
    await using destination = connectFake(fake, { host: 'db.test' }, { guard });
    await expect(destination.open(claim)).rejects.toMatchObject({ code: 'egress_blocked' });
    expect(fake.logins).toBe(0);
  });
});

describe('a connection', () => {
  it('is one login, one socket and one connection, however many statements and bulk copies there are', async () => {
    await using fake = await startTdsFake(laneScript());
    await using destination = connectFake(fake);
    await destination.open(claim);
    for (const batchNo of [1, 2, 3]) await destination.apply(batchOf([rowOf('1')], { batchNo }));
    expect([fake.logins, fake.connections]).toEqual([1, 1]);
  });

  it('is not made anew when it broke, since its temporary tables and settings went with it', async () => {
    await using fake = await startTdsFake(laneScript((request) => (isBatch(request) ? 'cut' : undefined)));
    await using destination = connectFake(fake);
    await destination.open(claim);
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    expect([fake.logins, fake.connections]).toEqual([1, 1]);
  });

  it('begins with the settings that the transactions rely on', async () => {
    await using fake = await startTdsFake(laneScript());
    await using destination = connectFake(fake);
    await destination.open(claim);
    const settings = statementsOf(fake).slice(0, 2).join('\n');
    for (const setting of [
      'set xact_abort on',
      'set transaction isolation level read committed',
      'set implicit_transactions off',
      'set ansi_warnings on',
      'set lock_timeout 10000',
    ]) {
      expect(settings).toContain(setting);
    }
  });

  it('is given up, with its statement, when that takes too long', async () => {
    await using fake = await startTdsFake(laneScript((request) => (isBatch(request) ? 'silence' : undefined)));
    await using destination = connectFake(fake, {}, { limits: { connectMs: 5000, statementMs: 300, lockMs: 50 } });
    await destination.open(claim);
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    expect(fake.attentions).toBe(1);
  });

  it('that breaks within a batch is never used again, and a new one goes on', async () => {
    let isCut = true;
    await using fake = await startTdsFake(laneScript((request) => (isBatch(request) && isCut ? 'cut' : undefined)));
    await using destination = connectFake(fake);
    await destination.open(claim);
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    isCut = false;
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    expect(fake.requests.filter(isBatch)).toHaveLength(1);
    await destination.open(claimOf('dbo', { fence: 2 }));
    expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
  });

  it('that the server ends with an error is not used again', async () => {
    const killed = { number: 596, message: 'Cannot continue the execution.', class: 21 };
    await using fake = await startTdsFake(laneScript((request) => (isBatch(request) ? killed : undefined)));
    await using destination = connectFake(fake);
    await destination.open(claim);
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    const count = fake.requests.length;
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    expect(fake.requests).toHaveLength(count);
  });
});
