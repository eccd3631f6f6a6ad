import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { openClient, serveHttp } from '../../../test/support/upstream/guarded-client.ts';
import type { HttpRequest, HttpResponse } from '../model/http.ts';
import { nextHop } from './redirect.ts';

type Seen = Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { body: string };

/** Serves with `response` and remembers what arrived. */
async function serveSeen(reply: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: Seen[] = [];
  const server = await serveHttp((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      seen.push({
        method: request.method,
        url: request.url,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      });
      reply(request, response);
    });
  });
  return { ...server, seen, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const redirectOnce =
  (status: number, location: () => string) => (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/start') response.writeHead(status, { location: location() });
    response.end('done');
  };

const credentials = {
  authorization: 'Bearer v',
  cookie: 'a=b',
  'x-api-key': 'v',
  accept: 'application/json',
  'user-agent': 'u',
};

describe('a redirect on the same origin', () => {
  it('is followed with all headers, and each hop is logged under its attempt', async () => {
    await using server = await serveSeen(redirectOnce(302, () => '/next#fragment'));
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    const reply = await client.send({ url: `${server.origin}/start`, headers: credentials });
    expect(reply.url.href).toBe(`${server.origin}/next`);
    expect(server.seen[1]?.headers).toMatchObject(credentials);
    expect(client.calls).toMatchObject([
      { attempt: 1, statusCode: 302, url: `${server.origin}/start` },
      { attempt: 1, statusCode: 200, url: `${server.origin}/next` },
    ]);
  });

  it.each([
    [301, 'GET', ''],
    [302, 'GET', ''],
    [303, 'GET', ''],
    [307, 'POST', 'query'],
    [308, 'POST', 'query'],
  ])('of status %i turns a POST into %s with body "%s"', async (status, method, body) => {
    await using server = await serveSeen(redirectOnce(status, () => '/next'));
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await client.send({
      method: 'POST',
      url: `${server.origin}/start`,
      headers: { 'content-type': 'text/plain' },
      body: 'query',
    });
    expect(server.seen[1]).toMatchObject({ method, body });
    expect(server.seen[1]?.headers['content-type']).toBe(body === '' ? undefined : 'text/plain');
  });

  it('is followed 3 times and not a fourth', async () => {
    await using server = await serveSeen((request, response) => {
      const left = Number(request.url?.slice(1));
      response.writeHead(left === 0 ? 200 : 302, left === 0 ? {} : { location: `/${left - 1}` }).end();
    });
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await expect(client.send({ url: `${server.origin}/3` })).resolves.toMatchObject({ status: 200 });
    await expect(client.send({ url: `${server.origin}/4` })).rejects.toThrow('(redirect_limit)');
  });

  it('passes the guard again: a user name in the location is refused', async () => {
    await using server = await serveSeen(redirectOnce(302, () => `http://user@127.0.0.1:${server.port}/next`));
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await expect(client.send({ url: `${server.origin}/start` })).rejects.toThrow('(userinfo)');
    expect(server.seen).toHaveLength(1);
  });

  it('is not followed when the spec says none', async () => {
    await using server = await serveSeen(redirectOnce(302, () => '/next'));
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, redirects: 'none' });

    await expect(client.send({ url: `${server.origin}/start` })).rejects.toThrow('GET /start responded with 302');
    expect(server.seen).toHaveLength(1);
  });
});

describe('a redirect to another origin', () => {
  it('is refused unless its host is listed, without a connection and without a retry', async () => {
    await using other = await serveSeen((_request, response) => response.end());
    await using server = await serveSeen(redirectOnce(302, () => `${other.origin}/`));
    await using client = openClient({ allow: `127.0.0.1:${server.port},127.0.0.1:${other.port}` });

    await expect(client.send({ url: `${server.origin}/start`, headers: credentials })).rejects.toThrow('(redirect)');
    expect(other.connections()).toBe(0);
    expect(client.calls).toMatchObject([
      { attempt: 1, statusCode: 302 },
      { attempt: 1, statusCode: null, errorCode: 'egress_blocked', url: `${other.origin}/` },
    ]);
  });

  it('sees accept and user-agent only, and what it redirects back to sees no more', async () => {
    await using other = await serveSeen((_request, response) =>
      response.writeHead(302, { location: `${server.origin}/back` }).end(),
    );
    await using server = await serveSeen(redirectOnce(302, () => `${other.origin}/`));
    await using client = openClient({ allow: `127.0.0.1:${server.port},127.0.0.1:${other.port}` });

    await client.send({
      url: `${server.origin}/start`,
      headers: credentials,
      allowedHosts: [`127.0.0.1:${other.port}`],
    });
    for (const { headers } of [other.seen[0], server.seen[1]].filter((seen) => seen !== undefined)) {
      expect(Object.keys(headers).toSorted()).toEqual(['accept', 'connection', 'host', 'user-agent']);
    }
    expect(server.seen.map((seen) => seen.url)).toEqual(['/start', '/back']);
  });

  it.each([307, 308])('of status %i is refused when it would carry the body along', async (status) => {
    await using other = await serveSeen((_request, response) => response.end());
    await using server = await serveSeen(redirectOnce(status, () => `${other.origin}/`));
    await using client = openClient({ allow: `127.0.0.1:${server.port},127.0.0.1:${other.port}` });

    const sending = client.send({
      method: 'POST',
      url: `${server.origin}/start`,
      body: 'v',
      allowedHosts: [`127.0.0.1:${other.port}`],
    });
    await expect(sending).rejects.toThrow('(redirect_body)');
    expect(other.connections()).toBe(0);
  });

  it('that is not reachable by the guard is refused even if listed', async () => {
    await using other = await serveSeen((_request, response) => response.end());
    await using server = await serveSeen(redirectOnce(302, () => `${other.origin}/`));
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    const sending = client.send({ url: `${server.origin}/start`, allowedHosts: [`127.0.0.1:${other.port}`] });
    await expect(sending).rejects.toThrow('(address)');
    expect(other.connections()).toBe(0);
  });
});

describe('the next hop', () => {
  const request: HttpRequest = {
    method: 'GET',
    url: new URL('https://api.example/start'),
    headers: {},
    timeoutMs: 1,
    responseBytesMax: 1,
    allowedHosts: ['api.example'],
  };
  const after = (status: number, location?: string) => {
    const headers: HttpResponse['headers'] = location === undefined ? {} : { location };
    const hop = { method: request.method, url: request.url, headers: {}, body: undefined };
    return nextHop(hop, { status, headers, body: new Uint8Array(), url: request.url }, { request, followed: 0 });
  };

  it('is refused from https to http', () =>
    expect(after(302, 'http://api.example/')?.rejection).toBe('redirect_downgrade'));

  it('is refused when the location is longer than a URL may be', () =>
    expect(() => after(302, `/${'x'.repeat(8192)}`)).toThrow(expect.objectContaining({ code: 'source_rejected' })));

  it('is refused when the location is no URL', () => expect(after(302, 'https://[')?.rejection).toBe('redirect'));

  it.each([200, 300, 304, 305])('does not exist for status %i', (status) => expect(after(status, '/next')).toBeNull());

  it('does not exist without a location', () => expect(after(302)).toBeNull());
});
