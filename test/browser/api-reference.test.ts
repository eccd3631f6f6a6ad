import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiServer, listen } from '../../src/api/server.ts';
import { openBrowser, type TestBrowser } from '../support/browser/browser.ts';
import { openReference } from '../support/browser/reference-page.ts';
import { startApi, type TestApi } from '../support/service/api.ts';

const resources = new AsyncDisposableStack();
let api: TestApi;
let server: ApiServer;
let chromium: TestBrowser;

beforeAll(async () => {
  api = resources.use(await startApi());
  server = await listen(api.app, { host: '127.0.0.1', port: 0 });
  resources.defer(() => server.stop());
  chromium = resources.use(await openBrowser());
});
afterAll(() => resources.disposeAsync());

const origin = () => `http://127.0.0.1:${server.port}`;
const creation = { at: 'tag/connections/POST/connections', title: 'Create a connection' };
/** A folder for pictures of the page, to look at or to show; none unless set. */
const pictures = process.env['REFERENCE_PICTURES'];

describe('the API reference', () => {
  it.each(['light', 'dark'] as const)('shows an operation with a request to copy: %s', async (colorScheme) => {
    await using opened = await openReference({ chromium, origin: origin() }, { ...creation, browser: { colorScheme } });
    const { page } = opened;
    const request = page.locator('[id$="POST/connections"]').getByText(`${origin()}/api/v1/connections`).first();
    await request.waitFor();
    await page.getByText('"the-customers-token"').first().waitFor();
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(background).toBe(colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(15, 15, 15)');
    const focused = await page.evaluate(
      '[document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]',
    );
    expect(focused).toEqual([expect.stringMatching(/POST\/connections$/), 'none']);
    expect(opened.complaints).toEqual([]);
    if (pictures !== undefined) {
      await mkdir(pictures, { recursive: true });
      await page.evaluate('document.fonts.ready.then(() => true)');
      await page.screenshot({ path: join(pictures, `${colorScheme}.png`), animations: 'disabled', caret: 'hide' });
    }
  });

  it('asks nobody but the service', async () => {
    await using opened = await openReference({ chromium, origin: origin() }, creation);
    await opened.page.getByText('"the-customers-token"').first().waitFor();
    await opened.page.evaluate('document.fonts.ready.then(() => true)');
    const { requests } = opened;
    expect(requests).toContain(`${origin()}/api/openapi.json`);
    expect(requests.filter((url) => !url.startsWith(`${origin()}/api/`))).toEqual([]);
  });

  it('sends a request with the reader’s key, to the service alone', async () => {
    const org = await api.newOrg();
    const place = { at: 'tag/workspaces/GET/workspaces', title: 'List the workspaces' };
    await using opened = await openReference({ chromium, origin: origin() }, place);
    const { page } = opened;
    await page.getByPlaceholder('Token').first().fill(org.apiKey);
    await page
      .locator('[id$="GET/workspaces"]')
      .getByRole('button', { name: /Test Request/ })
      .click();
    const response = page.waitForResponse((candidate) => candidate.url().endsWith('/api/v1/workspaces'));
    await page.getByRole('button', { name: /^Send/ }).first().click();
    expect((await response).status()).toBe(200);
    expect(opened.requests.filter((url) => !url.startsWith(origin()) && !url.startsWith('data:'))).toEqual([]);
  });

  it('is refused by no rule of its own: its policy lets in no script and no data of others', async () => {
    const { headers } = await api.app.request('/api/reference');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
      ]),
    );
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
  });

  it('has its scripts under addresses that change with them, so that browsers keep them for ever', async () => {
    const html = await (await api.app.request('/api/reference')).text();
    const scripts = [...html.matchAll(/<script src="reference\/([^"]+)"/g)].map(([, name = '']) => name);
    expect(scripts).toHaveLength(2);
    for (const script of scripts) {
      expect(script).toMatch(/-[0-9a-f]{16}\.js$/);
      const { status, headers } = await api.app.request(`/api/reference/${script}`);
      expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
    }
  });
});
