import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { LoggedCall } from '../../src/core/http/logged-call.ts';
import { startEntraServer, type TokenResponse } from '../support/sqlserver/entra-server.ts';
import { connectFake, laneScript } from '../support/sqlserver/script.ts';
import { startTdsFake } from '../support/sqlserver/tds-fake.ts';
import type { TdsLogin } from '../support/sqlserver/tds-login.ts';
import { batchOf, claimOf, rowOf } from '../support/sync/batches.ts';

const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), 'utf8');
const tls = { cert: fixture('db.test.crt'), key: fixture('db.test.key') };
const claim = claimOf('dbo');
const secret = 'very~secret of the client';

/** Longer than a packet, as those of Entra ID sometimes are. */
const tokenOf = (count: number): string => `token-${count}-${'x'.repeat(4000)}`;
const granted = (count: number, expires_in = 3600): TokenResponse => ({
  status: 200,
  body: { token_type: 'Bearer', expires_in, access_token: tokenOf(count) },
});

let orgs = 0;
/** The org that the table of the fake belongs to: the one that connects. */
let owner = '';
/** Tokens are kept for each client of an org: each test has its own. */
const newOrg = (): string => {
  owner = `org_entra_${(orgs += 1)}`;
  return owner;
};

const optionsOf = (changes: object = {}) => ({
  host: 'db.test',
  user: undefined,
  password: undefined,
  encrypt: true,
  ca: tls.cert,
  authentication: {
    kind: 'entra_client_credentials',
    tenantId: 'acme.test',
    clientId: 'client-1',
    clientSecret: secret,
    ...changes,
  },
});

/** A server that lets in who has one of these tokens. */
const servedBy = (isGood: (login: TdsLogin) => boolean, more: object = {}) => ({
  ...laneScript(undefined, () => owner),
  ...more,
  tls,
  login: (login: TdsLogin) => (isGood(login) ? ('ok' as const) : { number: 18_456, message: 'Login failed.' }),
});

afterEach(() => {
  vi.useRealTimers();
});

describe('a login by Entra ID', () => {
  it('is by a token of the Entra tenant for databases, and by nothing else', async () => {
    await using entra = await startEntraServer(tls, () => granted(1));
    const logins: TdsLogin[] = [];
    await using fake = await startTdsFake(servedBy((login) => logins.push(login) > 0));
    await using destination = connectFake(fake, optionsOf(), {
      guard: entra.guard,
      orgId: newOrg(),
      logCall: () => undefined,
    });
    await destination.open(claim);
    expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
    expect(entra.requests).toEqual([
      {
        host: 'login.microsoftonline.com',
        path: '/acme.test/oauth2/v2.0/token',
        form: {
          grant_type: 'client_credentials',
          client_id: 'client-1',
          client_secret: secret,
          scope: 'https://database.windows.net/.default',
        },
      },
    ]);
    expect(logins).toEqual([{ user: '', password: '', database: 'shop', token: tokenOf(1) }]);
  });

  it.each([
    ['login.microsoftonline.us', 'https://database.usgovcloudapi.net/.default'],
    ['login.partner.microsoftonline.cn', 'https://database.chinacloudapi.cn/.default'],
  ])('asks %s for the databases of its cloud', async (authorityHost, scope) => {
    await using entra = await startEntraServer(tls, () => granted(1));
    await using fake = await startTdsFake(servedBy(() => true));
    const deps = { guard: entra.guard, orgId: newOrg(), logCall: () => undefined };
    await using destination = connectFake(fake, optionsOf({ authorityHost }), deps);
    await destination.open(claim);
    expect(entra.requests).toMatchObject([{ host: authorityHost, form: { scope } }]);
  });

  it('shows neither secret nor token in the log of calls', async () => {
    const calls: LoggedCall[] = [];
    await using entra = await startEntraServer(tls, () => granted(1));
    await using fake = await startTdsFake(servedBy(() => true));
    const deps = { guard: entra.guard, orgId: newOrg(), logCall: (call: LoggedCall) => void calls.push(call) };
    await using destination = connectFake(fake, optionsOf(), deps);
    await destination.open(claim);
    expect(calls).toMatchObject([{ statusCode: 200, reqBodyRedacted: '[redacted]', respBodyTruncated: '[redacted]' }]);
    const text = JSON.stringify(calls);
    for (const hidden of [secret, encodeURIComponent(secret), 'very~secret', 'token-1'])
      expect(text).not.toContain(hidden);
  });

  it('uses its token until five minutes before its end, for each session of its org and its secret', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    await using entra = await startEntraServer(tls, (_, count) => granted(count));
    const tokens: (string | null)[] = [];
    await using fake = await startTdsFake(servedBy(({ token }) => tokens.push(token) > 0));
    const deps = { guard: entra.guard, orgId: newOrg(), logCall: () => undefined };
    const openOne = async (options = optionsOf(), orgId = deps.orgId) => {
      owner = orgId;
      await using destination = connectFake(fake, options, { ...deps, orgId });
      await destination.open(claim);
    };
    await openOne();
    vi.setSystemTime(Date.now() + 54 * 60_000);
    await openOne();
    vi.setSystemTime(Date.now() + 2 * 60_000);
    await openOne();
    // Neither another org nor another secret gets it.
    await openOne(optionsOf(), newOrg());
    await openOne(optionsOf({ clientSecret: 'another' }));
    expect(tokens).toEqual([1, 1, 2, 3, 4].map(tokenOf));
  });

  it('asks for another token once when the one that it kept is refused', async () => {
    let good = 1;
    await using entra = await startEntraServer(tls, (_, count) => granted(count));
    await using fake = await startTdsFake(servedBy(({ token }) => token === tokenOf(good)));
    const deps = { guard: entra.guard, orgId: newOrg(), logCall: () => undefined };
    await using destination = connectFake(fake, optionsOf(), deps);
    await destination.open(claim);
    good = 2;
    await using second = connectFake(fake, optionsOf(), deps);
    await second.open(claimOf('dbo', { fence: 2 }));
    expect(entra.requests).toHaveLength(2);
    good = 0;
    await using third = connectFake(fake, optionsOf(), deps);
    await expect(third.open(claim)).rejects.toMatchObject({ code: 'destination_login' });
    expect(entra.requests).toHaveLength(3);
    expect(fake.logins).toBe(5);
  });

  it.each([
    ['refuses the client', { status: 401, body: { error: 'invalid_client' } }, 'destination_login'],
    ['does not know the Entra tenant', { status: 400, body: { error: 'invalid_request' } }, 'destination_login'],
    ['gives no token', { status: 200, body: { hello: 'world' } }, 'destination_rejected'],
  ])('fails without a login when Entra ID %s', async (_, response, code) => {
    await using entra = await startEntraServer(tls, () => response);
    await using fake = await startTdsFake(servedBy(() => true));
    const deps = { guard: entra.guard, orgId: newOrg(), logCall: () => undefined };
    await using destination = connectFake(fake, optionsOf(), deps);
    await expect(destination.open(claim)).rejects.toMatchObject({
      code,
      message: expect.not.stringContaining('secret of'),
    });
    expect(fake.logins).toBe(0);
  });

  it('is tried again when Entra ID is in trouble for a moment, and left to a later attempt when it stays so', async () => {
    await using entra = await startEntraServer(tls, (_, count) =>
      count === 2 ? granted(1) : { status: 503, body: {} },
    );
    await using fake = await startTdsFake(servedBy(() => true));
    const deps = { guard: entra.guard, orgId: newOrg(), logCall: () => undefined };
    await using destination = connectFake(fake, optionsOf(), deps);
    await destination.open(claim);
    await using other = connectFake(fake, optionsOf({ clientId: 'client-2' }), deps);
    await expect(other.open(claim)).rejects.toMatchObject({ code: 'destination_unavailable' });
  });

  it('works inside of TLS that comes before the first message, too', async () => {
    await using entra = await startEntraServer(tls, () => granted(1));
    await using fake = await startTdsFake(servedBy(({ token }) => token === tokenOf(1), { isStrict: true }));
    const deps = { guard: entra.guard, orgId: newOrg(), logCall: () => undefined };
    await using destination = connectFake(fake, { ...optionsOf(), encrypt: 'strict' }, deps);
    await destination.open(claim);
    expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
  });
});
