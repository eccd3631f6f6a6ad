import { afterEach, describe, expect, it, vi } from 'vitest';
import { recordConnects } from '../../../test/support/security/connect-recorder.ts';
import { openClient, serveHttp } from '../../../test/support/upstream/guarded-client.ts';
import { parseAllowList, parseDenyList } from './addresses.ts';
import { createEgressGuard, type EgressOptions } from './egress.ts';

const guardWith = (options: Partial<EgressOptions> & { addresses?: readonly string[] }) =>
  createEgressGuard({ allow: [], deny: [], allowHttp: false, lookup: async () => options.addresses ?? [], ...options });

afterEach(() => vi.useRealTimers());

describe('vetted hosts', () => {
  it('say of each address whether it is on the allow list', async () => {
    const guard = guardWith({ addresses: ['10.1.2.3', '8.8.8.8'], allow: parseAllowList('10.1.2.0/24:5432') });

    await expect(guard.vetHost('db.example', 5432)).resolves.toEqual([
      { address: '10.1.2.3', family: 4, allowListed: true },
      { address: '8.8.8.8', family: 4, allowListed: false },
    ]);
    await expect(guard.vetHost('db.example', 5433)).rejects.toMatchObject({ code: 'egress_blocked' });
  });

  it('may be private when the operator lists the name and port', async () => {
    const guard = guardWith({ addresses: ['172.18.0.2'], allow: parseAllowList('postgres:5432') });

    await expect(guard.vetHost('Postgres', 5432)).resolves.toHaveLength(1);
    await expect(guard.vetHost('other', 5432)).rejects.toMatchObject({ code: 'egress_blocked' });
  });

  it('never are metadata addresses, not even behind a listed name', async () => {
    const guard = guardWith({ addresses: ['169.254.169.254'], allow: parseAllowList('metadata:80') });
    await expect(guard.vetHost('metadata', 80)).rejects.toMatchObject({ code: 'egress_blocked' });
  });

  it('are refused when denied, even if allowed as well', async () => {
    const lists = { allow: parseAllowList('10.1.2.3:5432'), deny: parseDenyList('10.0.0.0/8,8.8.8.0/24') };
    await expect(guardWith(lists).vetHost('10.1.2.3', 5432)).rejects.toMatchObject({ code: 'egress_blocked' });
    await expect(guardWith(lists).vetHost('8.8.8.8', 5432)).rejects.toMatchObject({ code: 'egress_blocked' });
  });

  it('have at most 16 addresses', async () => {
    const addresses = Array.from({ length: 17 }, (_, index) => `8.8.8.${index}`);
    await expect(guardWith({ addresses }).vetHost('many.example', 443)).rejects.toMatchObject({
      code: 'egress_blocked',
    });
    await expect(guardWith({ addresses: addresses.slice(1) }).vetHost('many.example', 443)).resolves.toHaveLength(16);
  });

  it.each(['/tmp', 'a\\b', 'a,b', 'a@b', 'a%b', 'a?b', 'a b', 'a:b', '', '::1%lo'])('are never "%s"', async (host) => {
    const lookup = vi.fn<() => Promise<string[]>>(async () => ['8.8.8.8']);
    await expect(guardWith({ lookup }).vetHost(host, 5432)).rejects.toMatchObject({ code: 'egress_blocked' });
    expect(lookup).not.toHaveBeenCalled();
  });

  it.each([0, -1, 65_536, 1.5, Number.NaN])('are never at port %s', async (port) => {
    await expect(guardWith({}).vetHost('8.8.8.8', port)).rejects.toThrow('(port)');
  });

  it('give up on a resolver that is silent for 5 s, without calling it a block', async () => {
    vi.useFakeTimers();
    const guard = guardWith({ lookup: () => new Promise(() => {}) });
    const vetting = guard.vetHost('slow.example', 5432).catch(String);
    await vi.advanceTimersByTimeAsync(5_000);
    await expect(vetting).resolves.toBe('Error: DNS did not respond within 5 s');
  });

  it('look the same to an org whether a name is missing, empty or private', async () => {
    const missing = guardWith({
      lookup: async () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })),
    });
    const messages = await Promise.all(
      [missing, guardWith({ addresses: [] }), guardWith({ addresses: ['10.0.0.5'] })].map((guard) =>
        guard.vetHost('probe.example', 443).catch(String),
      ),
    );
    expect(new Set(messages).size).toBe(1);
    expect(messages[0]).not.toMatch(/10\.0|probe/);
  });
});

describe('URLs', () => {
  it.each([
    ['ftp://example.com/', 'only absolute http and https'],
    ['https://user@example.com/', 'user name'],
    ['https://example.com:25/', 'port'],
    ['https://10.0.0.1/', 'public addresses only; the operator can open others with EGRESS_ALLOW'],
    ['http://example.com/', 'plain http'],
    ['http://8.8.8.8/', 'plain http'],
    ['not a url', 'host'],
  ])('%s is refused with its reason', (url, reason) => {
    expect(guardWith({}).urlIssue(url)).toContain(reason);
  });

  it('over plain http are for listed addresses only', () => {
    const guard = guardWith({ allow: parseAllowList('127.0.0.1:4010') });
    expect(guard.urlIssue('http://127.0.0.1:4010/')).toBeNull();
    expect(guard.urlIssue('http://8.8.8.8/')).toContain('plain http');
    expect(guardWith({ allowHttp: true }).urlIssue('http://8.8.8.8/')).toBeNull();
  });
});

describe('the check before DNS', () => {
  const guard = (allow: string) => createEgressGuard({ allow: parseAllowList(allow), deny: [], allowHttp: false });

  it.each(['https://localhost/', 'https://api.localhost/', 'https://LOCALHOST./'])('refuses %s', (url) => {
    expect(guard('').urlIssue(url)).not.toBeNull();
    expect(guard('127.0.0.1:8080').urlIssue(url)).not.toBeNull();
  });

  it('takes plain http for a name only where the operator has listed the port', () => {
    expect(guard('127.0.0.1:8080').urlIssue('http://api.example.com/')).not.toBeNull();
    expect(guard('10.0.0.0/8:80').urlIssue('http://crm.internal.example/')).toBeNull();
    expect(guard('127.0.0.1:8080').urlIssue('http://localhost:8080/')).toBeNull();
  });
});

describe('sockets', () => {
  it('are refused over plain http to a public name when only other addresses are listed', async () => {
    await using server = await serveHttp((_request, response) => response.end());
    using recorder = recordConnects(server);
    const egress = guardWith({ addresses: ['8.8.8.8'], allow: parseAllowList('127.0.0.1:4010') });
    await using client = openClient({ egress });

    await expect(client.send({ url: 'http://api.example/' })).rejects.toThrow('(plain_http)');
    expect(recorder.dials).toEqual([]);
  });

  it('are destroyed when the peer is not the vetted address', async () => {
    await using server = await serveHttp((_request, response) => response.end('secret'));
    using recorder = recordConnects(server, { peer: 'actual' });
    await using client = openClient({ egress: guardWith({ addresses: ['8.8.8.8'], allowHttp: true }) });

    await expect(client.send({ url: 'http://api.example/' })).rejects.toThrow('(address)');
    expect(recorder.dials).toEqual([{ address: '8.8.8.8', port: 80 }]);
    expect(client.calls).toMatchObject([{ attempt: 1, statusCode: null, errorCode: 'egress_blocked' }]);
  });

  it('fall back to the next vetted address when the first does not respond', async () => {
    await using server = await serveHttp((_request, response) => response.end('ok'));
    const lookup = vi.fn<() => Promise<string[]>>(async () => ['127.0.0.2', '127.0.0.1']);
    const allow = parseAllowList(`127.0.0.1:${server.port},127.0.0.2:${server.port}`);
    await using client = openClient({ egress: guardWith({ lookup, allow }) });

    await expect(client.send({ url: `http://api.example:${server.port}/` })).resolves.toMatchObject({ status: 200 });
    expect(lookup).toHaveBeenCalledTimes(1);
  });

  it('do not go through a proxy named in the environment', async () => {
    await using proxy = await serveHttp((_request, response) => response.end('proxy'));
    await using server = await serveHttp((_request, response) => response.end('source'));
    vi.stubEnv('HTTP_PROXY', proxy.origin).stubEnv('NODE_USE_ENV_PROXY', '1');
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    const response = await client.send({ url: server.origin });
    vi.unstubAllEnvs();
    expect([String(response.body), proxy.connections()]).toEqual(['source', 0]);
  });
});
