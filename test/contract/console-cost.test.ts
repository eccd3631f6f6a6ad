import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConsoleClient, type ConsoleReply, openConsole } from '../support/console/console-client.ts';
import { consolePages } from '../support/console/console-pages.ts';
import { fillRichOrg } from '../support/console/rich-org.ts';
import { type CountedApi, countStatements } from '../support/console/statement-count.ts';
import { startApi, type TestOrg } from '../support/service/api.ts';
import { specDocument } from '../support/upstream/api-fixtures.ts';

const resources = new AsyncDisposableStack();
let us: ConsoleClient;
let org: TestOrg;
let pages: Readonly<Record<string, string>>;
let counted: CountedApi;

beforeAll(async () => {
  const api = resources.use(await startApi());
  org = await api.newOrg();
  pages = consolePages(await fillRichOrg(api, org));
  counted = countStatements(api);
  us = await openConsole(counted, org.apiKey);
});
afterAll(() => resources.disposeAsync());

/** One of them looks up the key of the session, one the org for the frame; an open run says what it waits for. */
const statementsMax: Readonly<Record<string, number>> = {
  overview: 9,
  connection: 9,
  'connection-error': 9,
  'run-live': 8,
};
const statementsUsualMax = 7;

describe('every page of a busy org', () => {
  it('takes a handful of statements, however many rows it has', async () => {
    const tooMany: Record<string, number> = {};
    for (const [name, path] of Object.entries(pages)) {
      counted.take();
      await us.get(`/console${path}`);
      const statements = counted.take();
      expect(statements).toBeGreaterThan(1);
      if (statements > (statementsMax[name] ?? statementsUsualMax)) tooMany[name] = statements;
    }
    expect(tooMany).toEqual({});
  });

  it('is smaller than 100 kB', async () => {
    const sizes: Record<string, number> = {};
    for (const [name, path] of Object.entries(pages)) {
      const { text, status } = await us.get(`/console${path}`);
      expect([name, status]).toEqual([name, 200]);
      sizes[name] = Buffer.byteLength(text);
    }
    expect(Object.entries(sizes).filter(([, size]) => size > 100_000)).toEqual([]);
  });
});

it('the difference of two specs with tens of thousands of lines is cut', async () => {
  for (const [version, value] of [
    ['1.0.0', 1],
    ['1.1.0', 2],
  ] as const) {
    const body = Array.from({ length: 20_000 }, () => value);
    const test = { name: 'large', resource: 'items', mocks: [{ request: {}, respond: { body } }], expect: {} };
    const document = {
      metadata: { key: 'large', name: 'Large', version },
      http: { baseUrl: 'https://api.test' },
      resources: [{ key: 'items', primaryKey: 'id', request: { path: '/items' }, response: { records: 'data' } }],
      tests: [test],
    };
    expect(await org.call('POST', '/specs', { body: document })).toMatchObject({ status: 201 });
  }
  const { text, status } = await us.get('/console/specs/large/compare?from=1.0.0&to=1.1.0');
  expect(status).toBe(200);
  expect(text.includes('Cut after 5,000 lines.')).toBe(true);
  expect(text.length).toBeLessThan(1_000_000);
});

it('specs, versions and API keys are read page by page, to the end', async () => {
  const api = resources.use(await startApi());
  const many = await api.newOrg();
  const console = await openConsole(api, many.apiKey);
  for (let n = 0; n < 60; n += 1) {
    await many.call('POST', '/specs', { body: specDocument({ key: `spec-${n}` }) });
    await many.call('POST', '/specs', { body: specDocument({ key: 'one', version: `1.0.${n}` }) });
    await many.call('POST', '/api-keys');
  }
  for (const [path, total] of [
    ['/specs', 61],
    ['/specs/one', 60],
    ['/api-keys', 61],
  ] as const) {
    let address: string | undefined = `/console${path}`;
    const rows: number[] = [];
    while (address !== undefined) {
      const { text }: ConsoleReply = await console.get(address);
      rows.push(text.split('<tr role="row"><td').length - 1);
      address = /href="([^"]+)" class="button" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    expect([path, rows]).toEqual([path, [50, total - 50]]);
  }
});
