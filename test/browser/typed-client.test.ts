import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../src/api/server.ts';
import { newId } from '../../src/core/ids.ts';
import { openBrowser, type TestBrowser } from '../support/browser/browser.ts';
import { type BuiltClient, buildClient, openClientPage } from '../support/browser/client-page.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { endRunAs } from '../support/service/ended-run.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';

const resources = new AsyncDisposableStack();
let api: TestApi;
let org: TestOrg;
let chromium: TestBrowser;
let client: BuiltClient;
let origin: string;
let connectionId: string;

beforeAll(async () => {
  api = resources.use(await startApi());
  chromium = resources.use(await openBrowser());
  client = resources.use(await buildClient());
  const server = await listen(api.app, { host: '127.0.0.1', port: 0 });
  resources.defer(() => server.stop());
  origin = `http://127.0.0.1:${server.port}`;
  org = await api.newOrg();
  await publishSpec(org);
  connectionId = await createActiveConnection(org);
});
afterAll(() => resources.disposeAsync());

/** What a script on a page gives back; `client` is a client of this org. */
const script = (body: string, retries = 3): string => `(async () => {
  const library = await import('@connector-sync/client');
  const retry = { retries: ${retries}, firstDelayMs: 1 };
  const client = library.createClient({ url: '${origin}', apiKey: '${org.apiKey}', retry });
  ${body}
})()`;

describe('the typed client in a browser, as its package has it', () => {
  it('lists connections, starts a run, reads it and follows it to its end', async () => {
    await using opened = await openClientPage(chromium.browser, client, origin);
    const { page, complaints, modules } = opened;
    const listed = await page.evaluate<{ all: string[]; each: string[] }>(
      script(`
        const all = (await client.get('/connections')).map(({ id }) => id);
        const each = [];
        for await (const { id } of client.each('/connections')) each.push(id);
        return { all, each };`),
    );
    expect(listed).toEqual({ all: [connectionId], each: [connectionId] });
    const run = await page.evaluate<{ id: string; status: string }>(
      script(`
        const options = { params: { id: '${connectionId}' }, body: { resource: 'items' } };
        const { id } = await client.post('/connections/{id}/sync', options);
        return await client.get('/runs/{id}', { params: { id } });`),
    );
    expect(run).toMatchObject({ id: expect.stringMatching(/^run_/), connectionId, status: 'queued' });
    const following = page.evaluate<{ status: string }>(
      script(`return await library.finishedRun(client, '${run.id}', { pollMsMax: 20 });`),
    );
    await endRunAs(api.deps.db, run.id, { status: 'succeeded', recordsOut: 3 });
    expect(await following).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 3 } });
    expect(modules).toContain(client.entry);
    expect(complaints).toEqual([]);
  });

  it('throws its own errors, with what the service says', async () => {
    await using opened = await openClientPage(chromium.browser, client, origin);
    const error = await opened.page.evaluate(
      script(`
        const options = { params: { id: '${newId('run')}' }, requestId: 'from-a-browser' };
        const error = await client.get('/runs/{id}', options).catch((thrown) => thrown);
        const { status, code, requestId, operation } = error;
        return { isOwn: error instanceof library.ApiError, status, code, requestId, operation };`),
    );
    const expected = { status: 404, code: 'not_found', requestId: 'from-a-browser', operation: 'GET /runs/{id}' };
    expect(error).toEqual({ isOwn: true, ...expected });
  });

  it('is kept out by the browser on a page of another origin: the API sends no headers for one', async () => {
    const elsewhere = 'http://elsewhere.test';
    await using opened = await openClientPage(chromium.browser, client, elsewhere);
    const error = await opened.page.evaluate(
      script(
        `
        const error = await client.get('/connections').catch((thrown) => thrown);
        return { isOwn: error instanceof library.NetworkError, attempts: error.attempts };`,
        1,
      ),
    );
    expect(error).toEqual({ isOwn: true, attempts: 2 });
    expect(opened.complaints.join('\n')).toContain('blocked by CORS policy');
  });
});
