import { expect, it } from 'vitest';
import { unusedPort } from '../test/support/service/temporal-dev-server.ts';
import { createLog } from './log.ts';
import { serveOperators } from './operator-port.ts';

it('logs the error of a page that cannot be made, and sends none of its text', async () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', name: 'test', destination: { write: (line) => void lines.push(line) } });
  const port = await unusedPort();
  const pages = { '/broken': () => Promise.reject(new Error('a reason for operators')) };
  await using _port = await serveOperators({ host: '127.0.0.1', port, variable: 'METRICS_PORT', log, pages });
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, body: await response.json() };
  };

  expect(await get('/broken?a=b')).toEqual({ status: 500, body: { status: 'failed' } });
  expect(await get('/other')).toEqual({ status: 404, body: { status: 'not_found' } });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'error', message: 'request failed', path: '/broken', error: { message: 'a reason for operators' } },
  ]);
});
