import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPayloadCodec } from '../../src/core/crypto/payload-codec.ts';
import { startApi, type TestApi } from '../support/service/api.ts';

const token = 'a-token-of-the-operators-0123456789';
const codec = createPayloadCodec([{ id: 'k1', key: new Uint8Array(randomBytes(32)) }]);

let api: TestApi;
let closed: TestApi;
beforeAll(async () => {
  [api, closed] = await Promise.all([startApi({ codec: { token, codec } }), startApi()]);
});
afterAll(() => Promise.all([api[Symbol.asyncDispose](), closed[Symbol.asyncDispose]()]));

const path = `/api/codec/${token}/decode`;
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const plain = { metadata: { encoding: base64('json/plain') }, data: base64('{"runId":"run_a"}') };

/** As Temporal stores it, in the JSON form of its messages. */
async function encrypted(by = codec) {
  const [payload] = await by.encode([
    { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{"runId":"run_a"}') },
  ]);
  const metadata = Object.entries(payload?.metadata ?? {}).map(([name, value]) => [
    name,
    Buffer.from(value).toString('base64'),
  ]);
  return { metadata: Object.fromEntries(metadata), data: Buffer.from(payload?.data ?? []).toString('base64') };
}

const decode = async (payloads: unknown, { app = api.app, at = path } = {}) => {
  const response = await app.request(at, { method: 'POST', body: JSON.stringify({ payloads }) });
  return { status: response.status, body: await response.json() };
};

describe('the address that the Temporal UI asks', () => {
  it('decrypts payloads, and leaves alone what is not encrypted or does not decrypt', async () => {
    const foreign = await encrypted(createPayloadCodec([{ id: 'k1', key: new Uint8Array(randomBytes(32)) }]));
    const lost = await encrypted(createPayloadCodec([{ id: 'k9', key: new Uint8Array(randomBytes(32)) }]));
    expect(await decode([await encrypted(), plain, foreign, lost])).toEqual({
      status: 200,
      body: { payloads: [plain, plain, foreign, lost] },
    });
  });

  it('may be asked by pages of the UI, wherever that is', async () => {
    const asked = { origin: 'http://localhost:8233', 'access-control-request-method': 'POST' };
    const headers = { ...asked, 'access-control-request-headers': 'content-type,x-namespace' };
    const preflight = await api.app.request(path, { method: 'OPTIONS', headers });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')).toBe('content-type,x-namespace');
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    const init = { method: 'POST', headers: asked, body: '{"payloads":[]}' };
    expect((await api.app.request(path, init)).headers.get('access-control-allow-origin')).toBe('*');
  });

  it('is there for nobody without the token, and not at all unless it is configured', async () => {
    const payloads = [await encrypted()];
    for (const at of [
      '/api/codec/decode',
      '/api/codec/x/decode',
      `/api/codec/${token}x/decode`,
      '/api/v1/codec/decode',
    ]) {
      const { status, body } = await decode(payloads, { at });
      expect({ at, ok: [401, 404].includes(status) }).toEqual({ at, ok: true });
      expect(JSON.stringify(body)).not.toContain('payloads');
    }
    expect(await decode(payloads, { app: closed.app })).toMatchObject({ status: 404 });
  });

  it.each([
    'text',
    '{}',
    '{"payloads":[1]}',
    '{"payloads":[{"data":"not base64!"}]}',
    '{"payloads":[{"metadata":{"encoding":7}}]}',
  ])('refuses %s', async (body) => {
    expect((await api.app.request(path, { method: 'POST', body })).status).toBe(400);
  });

  it('keeps the token out of the log', async () => {
    await decode([plain]);
    expect(api.logLines.join('')).toContain('/api/codec/***');
    expect(api.logLines.join('')).not.toContain(token);
  });
});
