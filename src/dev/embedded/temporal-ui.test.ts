import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caseFigure } from '../../../test/support/security/figure.ts';
import { freePort } from './ports.ts';
import { serveTemporalUi } from './temporal-ui.ts';

const started = new AsyncDisposableStack();
let port = 0;
beforeAll(async () => {
  const ui = createServer((incoming, outgoing) => {
    outgoing.write(`${incoming.method} ${incoming.url} `);
    incoming.pipe(outgoing);
  }).listen(0, '127.0.0.1');
  await once(ui, 'listening');
  started.defer(() => void ui.close());
  port = await freePort(28_244);
  const at = { ip: '127.0.0.1', port };
  const served = await serveTemporalUi(at, { ip: '127.0.0.1', port: (ui.address() as AddressInfo).port });
  if (served) started.use(served);
});
afterAll(() => started.disposeAsync());

async function ask(headers: Record<string, string>, body = ''): Promise<string> {
  const asked = request({ host: '127.0.0.1', port, method: 'POST', path: '/api/v1/x?y=1', headers }).end(body);
  const [response] = await once(asked, 'response');
  return `${response.statusCode} ${await text(response)}`;
}

describe('the Temporal UI of the dev server', () => {
  it('responds under its own names', async () => {
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
      expect(await ask({ host, origin: `http://${host}` }, 'body')).toBe('200 POST /api/v1/x?y=1 body');
      expect(await ask({ host })).toBe('200 POST /api/v1/x?y=1 ');
    }
  });

  it.each([
    ['another name that leads here', () => ({ host: `evil.example:${port}` })],
    ['its name at another port', () => ({ host: '127.0.0.1:1' })],
    ['its name as the beginning of another', () => ({ host: `localhost:${port}.evil.example` })],
    ['a page of another site', () => ({ host: `localhost:${port}`, origin: 'https://evil.example' })],
    ['a page of no site', () => ({ host: `localhost:${port}`, origin: 'null' })],
  ])('refuses %s', async (_whom, headers) => {
    const response = await ask(headers());
    caseFigure('foreignPages', !response.startsWith('421 '));
    expect(response).toMatch(/^421 The Temporal UI responds only under its own name.*Open http:/);
  });

  it('leaves a port that is taken', async () => {
    expect(await serveTemporalUi({ ip: '127.0.0.1', port }, { ip: '127.0.0.1', port: 1 })).toBeNull();
  });
});
