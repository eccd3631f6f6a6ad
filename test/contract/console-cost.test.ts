import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConsoleClient, openConsole } from '../support/console/console-client.ts';
import { consolePages } from '../support/console/console-pages.ts';
import { fillRichOrg } from '../support/console/rich-org.ts';
import { type CountedApi, countStatements } from '../support/console/statement-count.ts';
import { startApi } from '../support/service/api.ts';

const resources = new AsyncDisposableStack();
let us: ConsoleClient;
let pages: Readonly<Record<string, string>>;
let counted: CountedApi;

beforeAll(async () => {
  const api = resources.use(await startApi());
  const org = await api.newOrg();
  pages = consolePages(await fillRichOrg(api, org));
  counted = countStatements(api);
  us = await openConsole(counted, org.apiKey);
});
afterAll(() => resources.disposeAsync());

/** One of them looks up the key of the session; a connection has eight lists on its page. */
const statementsMax: Readonly<Record<string, number>> = { overview: 8, connection: 13 };

describe('every page of a busy org', () => {
  it('takes a handful of statements, however many rows it has', async () => {
    const tooMany: Record<string, number> = {};
    for (const [name, path] of Object.entries(pages)) {
      counted.take();
      await us.get(`/console${path}`);
      const statements = counted.take();
      expect(statements).toBeGreaterThan(1);
      if (statements > (statementsMax[name] ?? 6)) tooMany[name] = statements;
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
