import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { recordConnects } from '../../../test/support/security/connect-recorder.ts';
import { openClient, serveRaw } from '../../../test/support/upstream/guarded-client.ts';
import { parseAllowList } from './addresses.ts';
import { createEgressGuard, type EgressOptions } from './egress.ts';
import type { Lookup } from './fair-lookup.ts';
import { openTunnel, parseEgressProxy } from './proxy-tunnel.ts';

const fixture = (name: string) => readFileSync(new URL(`../../../test/fixtures/tls/${name}`, import.meta.url), 'utf8');
const trusted = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...trusted, fixture('localhost.crt')]));
afterAll(() => setDefaultCACertificates(trusted));
afterEach(() => vi.useRealTimers());

/** What a target says of the request that reached it. */
const tell: RequestListener = ({ headers, socket }, response) => {
  const servername = socket instanceof TLSSocket ? socket.servername : null;
  response.end(JSON.stringify({ host: headers.host, servername, credentials: headers['proxy-authorization'] ?? null }));
};
const plainTarget = () => createServer(tell);
const secureTarget = () => createSecureServer({ key: fixture('localhost.key'), cert: fixture('localhost.crt') }, tell);

/** A proxy whose tunnels all end in `target`, without a socket of its own, so that every dial is the client's. */
async function startProxy(target: Server) {
  const seen: IncomingMessage[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(500).end());
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('connect', (request, socket) => {
    seen.push(request);
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    target.emit('connection', socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    connections: () => sockets.size,
    seen,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

const neverAsked: Lookup = async (host) => {
  throw new Error(`${host} was looked up here`);
};

const guardBehind = ({ port }: { readonly port: number }, options: Partial<EgressOptions> = {}) =>
  createEgressGuard({
    allow: [],
    deny: [],
    allowHttp: false,
    lookup: neverAsked,
    proxy: parseEgressProxy(`http://me:s%3Acret@127.0.0.1:${port}`),
    ...options,
  });

describe('requests behind a proxy', () => {
  it('reach an https target through one tunnel, with its name and certificate, and without a lookup here', async () => {
    await using proxy = await startProxy(secureTarget());
    using recorder = recordConnects(proxy);
    await using client = openClient({ egress: guardBehind(proxy, { allow: parseAllowList('localhost:8443') }) });

    const first = await client.send({ url: 'https://localhost:8443/1' });
    // The dispatcher has its socket back once the event that ended the response is over.
    await setImmediate();
    const responses = [first, await client.send({ url: 'https://localhost:8443/2' })];
    const told = { host: 'localhost:8443', servername: 'localhost', credentials: null };
    expect(responses.map(({ body }) => JSON.parse(String(body)))).toEqual([told, told]);
    expect(proxy.seen.map(({ url, headers }) => [url, headers['proxy-authorization']])).toEqual([
      ['localhost:8443', `Basic ${Buffer.from('me:s:cret').toString('base64')}`],
    ]);
    expect(recorder.dials).toEqual([{ address: '127.0.0.1', port: proxy.port }]);
  });

  it('do not reach a target whose certificate is for another name', async () => {
    await using proxy = await startProxy(secureTarget());
    await using client = openClient({ egress: guardBehind(proxy) });

    await expect(client.send({ url: 'https://api.example/' })).rejects.toMatchObject({
      code: 'source_unavailable',
      cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    });
  });

  it.each([
    ['http://api.example/', 'api.example:80'],
    ['http://8.8.8.8:8080/', '8.8.8.8:8080'],
    ['http://[2606:4700::1111]/', '[2606:4700::1111]:80'],
  ])('reach %s through a tunnel to %s', async (url, authority) => {
    await using proxy = await startProxy(plainTarget());
    using recorder = recordConnects(proxy);
    await using client = openClient({ egress: guardBehind(proxy, { allowHttp: true }) });

    const { body } = await client.send({ url });
    expect(JSON.parse(String(body))).toMatchObject({ host: new URL(url).host, credentials: null });
    expect(proxy.seen.map((request) => [request.url, request.headers.host])).toEqual([[authority, authority]]);
    expect(recorder.dials).toEqual([{ address: '127.0.0.1', port: proxy.port }]);
  });

  it('over plain http are for names that the allow list has with their port', async () => {
    await using proxy = await startProxy(plainTarget());
    const allow = parseAllowList('Api.example:80,10.0.0.0/8:81');
    await using client = openClient({ egress: guardBehind(proxy, { allow }) });

    await expect(client.send({ url: 'http://api.example/' })).resolves.toMatchObject({ status: 200 });
    await expect(client.send({ url: 'http://api.example:81/' })).rejects.toThrow('(plain_http)');
    expect(proxy.seen).toHaveLength(1);
  });

  it.each([
    'http://169.254.169.254/',
    'https://169.254.169.254/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://10.0.0.1/',
    'https://localhost/',
  ])('are refused without a word to the proxy: %s', async (url) => {
    await using proxy = await startProxy(plainTarget());
    using recorder = recordConnects(proxy);
    const egress = guardBehind(proxy, { allow: parseAllowList('127.0.0.1:443'), allowHttp: true });
    await using client = openClient({ egress });

    await expect(client.send({ url })).rejects.toThrow('(address)');
    const connecting = Promise.withResolvers<Error | null>();
    const { protocol, hostname, port } = new URL(url);
    egress.connector()({ protocol, hostname, port }, (...[error]) => connecting.resolve(error));
    await expect(connecting.promise).resolves.toMatchObject({ code: 'egress_blocked' });
    expect(recorder.dials).toEqual([]);
  });

  it('leave names to the proxy, but not those of databases', async () => {
    await using proxy = await startProxy(plainTarget());
    const egress = guardBehind(proxy, { lookup: async () => ['10.0.0.5'] });

    await expect(egress.vetUrl(new URL('https://api.example/'))).resolves.toBeUndefined();
    await expect(egress.vetHost('db.example', 5432)).rejects.toMatchObject({ code: 'egress_blocked' });
    expect(proxy.connections()).toBe(0);
  });
});

/** A proxy that says `response` to whatever comes and then hangs up. */
const startRefusing = (response: string) => serveRaw((socket) => socket.once('data', () => socket.end(response)));

describe('a proxy', () => {
  it.each([
    ['403', 'HTTP/1.1 403 Forbidden\r\n\r\nrule 7 of acl.yaml'],
    [
      '407 that asks for no credentials',
      'HTTP/1.1 407 Request rejected by proxy\r\nx-error: rule 7 of acl.yaml\r\n\r\n',
    ],
  ])('that forbids a target with %s ends the run, in words of ours', async (_, response) => {
    await using proxy = await startRefusing(response);
    await using client = openClient({ egress: guardBehind(proxy) });

    const failure = client.send({ url: 'https://api.example/' });
    await expect(failure).rejects.toMatchObject({
      code: 'egress_blocked',
      message: expect.not.stringContaining('acl'),
    });
    expect(client.calls).toMatchObject([{ attempt: 1, statusCode: null, errorCode: 'egress_blocked' }]);
  });

  it.each([
    ['other credentials (407)', 'HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="rule 7"\r\n\r\n'],
    ['no tunnel (502)', 'HTTP/1.1 502 rule 7\r\n\r\nrule 7'],
    ['no tunnel (302)', 'HTTP/1.1 302 rule 7\r\nlocation: http://rule.example/7\r\n\r\n'],
    ['no valid HTTP response', 'rule 7'],
    ['no valid HTTP response', ''],
    ['no valid HTTP response', `HTTP/1.1 200 OK\r\nx: ${'rule 7'.repeat(3000)}\r\n\r\n`],
  ])(
    'with %s is tried again, and the error contains neither the text of the proxy nor our password',
    async (issue, response) => {
      await using proxy = await startRefusing(response);
      await using client = openClient({ egress: guardBehind(proxy) });

      const failure: unknown = await client.send({ url: 'https://api.example/' }).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'source_unavailable' });
      const { cause } = failure as Error;
      expect(String(cause)).toContain('EGRESS_PROXY');
      expect(String(cause)).toContain(issue);
      expect(`${String(failure)} ${String(cause)}`).not.toMatch(/rule|cret/);
      expect(client.calls.map(({ errorCode }) => errorCode)).toEqual(['network', 'network', 'network']);
    },
  );

  it('that is silent is left when the time is up', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const asked = Promise.withResolvers<void>();
    await using proxy = await serveRaw((socket) => socket.once('data', () => asked.resolve()));
    const opening = Promise.withResolvers<Error | null>();
    guardBehind(proxy).connector()({ protocol: 'https:', hostname: 'api.example', port: '' }, (...[error]) =>
      opening.resolve(error),
    );
    await asked.promise;
    vi.advanceTimersByTime(5_000);
    await expect(opening.promise).resolves.toMatchObject({
      code: 'UND_ERR_CONNECT_TIMEOUT',
      message: expect.stringContaining('EGRESS_PROXY'),
    });
  });

  it('may send the first bytes of the target with its response', async () => {
    await using proxy = await serveRaw((socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\nearly')),
    );
    const opening = Promise.withResolvers<Socket | null>();
    openTunnel(
      { host: '127.0.0.1', port: proxy.port, authorization: null },
      { host: 'api.example', port: 80 },
      { timeoutMs: 5_000, callback: (...[, socket]) => opening.resolve(socket) },
    );
    const socket = await opening.promise;
    const [bytes] = await once(socket ?? expect.fail('There is no tunnel.'), 'data');
    expect(String(bytes)).toBe('early');
    socket?.destroy();
  });
});

describe('the address of a proxy', () => {
  it.each([
    ['http://proxy:4750', { host: 'proxy', port: 4750, authorization: null }],
    ['http://proxy:80/', { host: 'proxy', port: 80, authorization: null }],
    ['http://[::1]:4750', { host: '::1', port: 4750, authorization: null }],
    ['http://a:b@10.0.0.1:4750', { host: '10.0.0.1', port: 4750, authorization: 'Basic YTpi' }],
  ])('is read from %s', (text, proxy) => {
    expect(parseEgressProxy(text)).toEqual(proxy);
  });

  it.each([
    '',
    'proxy:4750',
    'http://proxy',
    'https://proxy:4750',
    'socks5://proxy:1080',
    'http://proxy:0',
    'http://proxy:70000',
    'http://proxy:4750/path',
    'http://proxy:4750?x=1',
    'http://a%zz:b@proxy:4750',
    'http://:4750',
  ])('is not read from "%s"', (text) => {
    expect(parseEgressProxy(text)).toBeNull();
  });
});
