import { describe, expect, it } from 'vitest';
import { openClient, serveHttp } from '../../../test/support/upstream/guarded-client.ts';
import { describeCall } from './logged-call.ts';
import { createRedactor } from './redact.ts';

const secret = 's+cret/"value"&more=1';
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Spellings a source could respond with; the body, being JSON, escapes each once more. */
const echoes = [
  secret,
  encodeURIComponent(secret),
  new URLSearchParams({ a: secret }).toString(),
  JSON.stringify(secret),
  Buffer.from(secret).toString('hex'),
  base64(secret),
  base64(`u:${secret}`),
  base64(`us:${secret}`),
  Buffer.from(`user:${secret}`).toString('base64url'),
];

describe('the call log', () => {
  it('holds no echo of a secret, in whatever spelling and place', async () => {
    await using server = await serveHttp((_request, response) => {
      response.setHeader('x-echo', secret);
      response.setHeader('link', `<http://a.example/?cursor=${encodeURIComponent(secret)}>`);
      response.writeHead(400).end(JSON.stringify({ echoes }));
    });
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, secrets: [secret] });

    const url = new URL(`/${encodeURIComponent(secret)}/items?q=${encodeURIComponent(secret)}`, server.origin);
    const headers = { authorization: `Basic ${base64(`u:${secret}`)}`, accept: secret };
    const sending = client.send({ method: 'POST', url, headers, body: JSON.stringify({ q: secret }) });

    const error = await sending.catch((thrown: unknown) => thrown);
    const shown = JSON.stringify(client.calls) + String(error);
    expect(client.calls[0]?.respBodyTruncated?.match(/\[redacted\]/g)).toHaveLength(echoes.length);
    expect(echoes.filter((echo) => shown.includes(echo) || shown.includes(JSON.stringify(echo).slice(1, -1)))).toEqual(
      [],
    );
    expect(shown).not.toMatch(/cret|value|more=1/);
  });

  it('masks a refreshed token as soon as it is known', async () => {
    await using server = await serveHttp((_request, response) => response.end('token-2-of-the-run'));
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });
    client.addSecret('token-2-of-the-run');

    await client.send({ url: server.origin });
    expect(client.calls[0]?.respBodyTruncated).toBe('[redacted]');
  });

  it('cuts long bodies after masking and says how long they were', async () => {
    const body = `${'x'.repeat(2_040)}${secret}${'y'.repeat(50_000)}`;
    await using server = await serveHttp((_request, response) => response.end(body));
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, secrets: [secret] });

    await client.send({ method: 'POST', url: server.origin, body });
    const shown = `${'x'.repeat(2_040)}[redacted]… [${body.length} in all]`;
    expect(client.calls[0]).toMatchObject({ respBodyTruncated: shown, reqBodyRedacted: shown });
  });

  it('cuts between characters', async () => {
    await using server = await serveHttp((_request, response) => response.end('😀'.repeat(40_000)));
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, logBodyCharsMax: 4 });

    await client.send({ url: server.origin });
    expect(client.calls[0]?.respBodyTruncated).toMatch(/^😀😀… /);
  });

  it('shows the size of a binary body only', async () => {
    const bodies = [Buffer.from([0x25, 0x00, 0x41]), Buffer.from([0xff, 0xfe, 0x41])];
    await using server = await serveHttp((_request, response) => response.end(bodies.shift()));
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await client.send({ url: server.origin });
    await client.send({ url: server.origin });
    expect(client.calls.map((call) => call.respBodyTruncated)).toEqual(['[binary, 3 bytes]', '[binary, 3 bytes]']);
  });

  it('can be stored whatever a header holds', async () => {
    await using server = await serveHttp((_request, response) => response.end());
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await client.send({ url: server.origin, headers: { accept: 'a\0\ud800' } }).catch(() => undefined);
    expect(client.calls).toMatchObject([{ reqHeadersRedacted: { accept: 'a␀\ufffd' }, errorCode: 'spec_invalid' }]);
  });

  it('can be stored when a response has NUL in a header', async () => {
    const response = {
      status: 200,
      headers: { etag: 'a\0b' },
      body: new Uint8Array(),
      url: new URL('https://a.example/'),
    };
    const hop = { method: 'GET', url: response.url, headers: {}, body: undefined } as const;
    const result = { attempt: 1, durationMs: 1, response, errorCode: null };
    const limits = { redactor: createRedactor([]), bodyCharsMax: 10 };
    expect(describeCall(hop, result, limits)).toMatchObject({ respHeaders: { etag: 'a␀b' } });
  });

  it('holds null for bodies that do not exist, and the headers both ways', async () => {
    await using server = await serveHttp((_request, response) => response.writeHead(204, { etag: '"1"' }).end());
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await client.send({ url: `${server.origin}/items?page=1`, headers: { accept: 'application/json' } });
    expect(client.calls).toMatchObject([
      {
        method: 'GET',
        url: `${server.origin}/items?page=1`,
        statusCode: 204,
        attempt: 1,
        reqHeadersRedacted: {
          accept: 'application/json',
          'accept-encoding': 'gzip, br, zstd, deflate',
          'user-agent': 'connector-sync',
        },
        reqBodyRedacted: null,
        respHeaders: { etag: '"1"' },
        respBodyTruncated: null,
        errorCode: null,
      },
    ]);
    expect(client.calls[0]?.durationMs).toBeGreaterThanOrEqual(0);
  });
});
