import { gzipSync } from 'node:zlib';
import { source as axeSource } from 'axe-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApiServer, listen } from '../../src/api/server.ts';
import { signEmbedToken } from '../../src/core/crypto/embed-token.ts';
import type { RunStatus } from '../../src/core/resources/run.ts';
import { openBrowser, type TestBrowser } from '../support/browser/browser.ts';
import {
  act,
  expectNote,
  expectState,
  letTimePass,
  type OpenPage,
  openWidgetPage,
  type PageOptions,
} from '../support/browser/widget-page.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { endRunAs } from '../support/service/ended-run.ts';
import { eventually } from '../support/service/eventually.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';

const resources = new AsyncDisposableStack();
let api: TestApi;
let server: ApiServer;
let org: TestOrg;
let chromium: TestBrowser;
let connectionId: string;

beforeAll(async () => {
  api = resources.use(await startApi());
  server = await listen(api.app, { host: '127.0.0.1', port: 0 });
  resources.defer(() => server.stop());
  org = await api.newOrg();
  await publishSpec(org);
  chromium = resources.use(await openBrowser());
});
afterAll(() => resources.disposeAsync());
beforeEach(async () => {
  connectionId = await createActiveConnection(org);
});

const serviceOrigin = () => `http://127.0.0.1:${server.port}`;

/** A run that has ended so long ago. */
async function run(status: RunStatus, { endedSecondsAgo = 0, recordsOut = 1200 } = {}): Promise<void> {
  const { body } = await org.call('POST', `/connections/${connectionId}/sync`, { body: { resource: 'items' } });
  await endRunAs(api.deps.db, body.id, { status, endedSecondsAgo, recordsOut });
}
const mintToken = async (): Promise<string> =>
  (await org.call('POST', '/tokens/embed', { body: { connectionId } })).body.token;
const expiredToken = async (): Promise<string> => {
  const { keys, issuer } = api.deps.embed;
  const subject = { orgId: org.orgId, connectionId, scopes: [], ttlSeconds: -60 };
  return (await signEmbedToken({ keys: keys ?? [], issuer }, subject)).token;
};

const openPage = (options?: PageOptions) =>
  openWidgetPage({ serviceOrigin: serviceOrigin(), chromium, mintToken }, options);

describe('the widget', () => {
  it('shows the freshness of a connection with the code of its guide', async () => {
    await run('succeeded', { endedSecondsAgo: 300 });
    await using opened = await openPage();
    await expectState(opened, 'Up to date');
    expect(await opened.text('name')).toBe('Acme of Example Ltd');
    expect(await opened.text('last-success')).toBe('Last success: 5 minutes ago');
    expect(await opened.text('resources')).toMatch(/^items\s+Up to date\s+5 minutes ago · 1,200 records$/);
    const time = opened.page.locator('connector-freshness [part="last-success"] time');
    const { body } = await org.call('GET', `/connections/${connectionId}/freshness`);
    expect(await time.getAttribute('datetime')).toBe(body.freshness.lastSuccessAt);
    expect(opened.complaints).toEqual([]);
  });

  it('asks nothing but the page’s server for a token and the service for one connection', async () => {
    await using opened = await openPage();
    await expectState(opened, 'Not synced yet');
    const [own, service] = [new URL(opened.host.url).origin, serviceOrigin()];
    const allowed = [`${own}/`, `${own}/page.js`, `${own}/embed-token`, `${service}/embed/freshness.js`];
    const used = opened.requests.filter((request) => !request.endsWith('/favicon.ico'));
    expect(new Set(used)).toEqual(
      new Set([...allowed, `${service}/api/v1/embed/connection`].map((url) => `GET ${url}`)),
    );
  });

  it('requests data from the service that served its script by default', async () => {
    await using opened = await openPage({ apiUrl: false });
    await expectState(opened, 'Not synced yet');
  });

  it('refreshes itself while it can be seen, and as soon as it can be again', async () => {
    await using opened = await openPage();
    await expectState(opened, 'Not synced yet');
    await run('failed');
    await letTimePass(opened);
    await expectState(opened, 'Failing');

    const setVisibility = (state: string) =>
      act(
        opened.page,
        `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
         document.dispatchEvent(new Event('visibilitychange'));`,
      );
    await setVisibility('hidden');
    await run('partial');
    const asked = opened.requests.length;
    await letTimePass(opened);
    expect(opened.requests).toHaveLength(asked);
    await setVisibility('visible');
    await expectState(opened, 'Incomplete');
  });

  it('shows markup in a name as text', async () => {
    const displayName = '<img src=x onerror=alert(1)>';
    await org.call('PATCH', `/connections/${connectionId}`, { body: { displayName } });
    await using opened = await openPage();
    await expectState(opened, 'Not synced yet');
    expect(await opened.text('name')).toBe(displayName);
    expect(await opened.page.locator('connector-freshness img').count()).toBe(0);
  });

  it('has buttons by the scopes of its token, and none without', async () => {
    await using without = await openPage();
    await expectState(without, 'Not synced yet');
    expect(await without.page.locator('connector-freshness button').count()).toBe(0);

    const mint = async (): Promise<string> =>
      (await org.call('POST', '/tokens/embed', { body: { connectionId, scopes: ['sync', 'pause'] } })).body.token;
    await using opened = await openPage({ mint });
    await expectState(opened, 'Not synced yet');
    const names = () => opened.page.locator('connector-freshness button').allInnerTexts();
    expect(await names()).toEqual(['Sync now', 'Pause']);
    await opened.page.evaluate(axeSource);
    expect(await opened.page.evaluate('axe.run().then(({ violations }) => violations.map(({ id }) => id))')).toEqual(
      [],
    );
    await opened.page.getByRole('button', { name: 'Sync now' }).click();
    await expectState(opened, 'Syncing');
    await opened.page.getByRole('button', { name: 'Pause' }).focus();
    await opened.page.keyboard.press('Enter');
    await expectNote(opened, 'Syncing is paused.');
    await eventually('it can go on', async () => (await names()).join() === 'Resume');
    expect((await org.call('GET', `/connections/${connectionId}`)).body.status).toBe('paused');
    await opened.page.getByRole('button', { name: 'Resume' }).click();
    await eventually('it goes on', async () => (await names()).join() === 'Sync now,Pause');
    expect(opened.complaints).toEqual([]);
  });

  it('says what a paused connection waits for', async () => {
    await org.call('POST', `/connections/${connectionId}/pause`);
    await using opened = await openPage();
    await expectNote(opened, 'Syncing is paused.');
  });

  it('has at most 10 kB, compressed', async () => {
    const script = await (await api.app.request('/embed/freshness.js')).text();
    expect(gzipSync(script).length).toBeLessThanOrEqual(10_000);
  });
});

describe('a token', () => {
  const withToken = (token: string, rest = '') =>
    `const widget = document.querySelector('connector-freshness'); widget.token = '${token}'; ${rest}`;
  const fromServer = `widget.getToken = async () => (await fetch('/embed-token')).text();`;

  it('that the page sets is used, and no other is fetched', async () => {
    await using opened = await openPage({ script: withToken(await mintToken(), fromServer) });
    await expectState(opened, 'Not synced yet');
    expect(opened.host.mints()).toBe(0);
  });

  it('that is refused is replaced once', async () => {
    await using opened = await openPage({ script: withToken(await expiredToken(), fromServer) });
    await expectState(opened, 'Not synced yet');
    expect(opened.host.mints()).toBe(1);
    const before = opened.replies();
    await letTimePass(opened);
    await eventually('it asks again', async () => opened.replies() > before);
    expect(opened.host.mints()).toBe(1);
  });

  it('that is refused although it is fresh is not fetched again at once', async () => {
    await using opened = await openPage({ script: withToken(await expiredToken(), fromServer), mint: expiredToken });
    await expectNote(opened, 'Access has expired. Reload the page.');
    expect(opened.host.mints()).toBe(1);
    expect(await opened.text('state')).toBe('Unknown');
  });

  it('that is over and cannot be replaced ends the asking', async () => {
    await using opened = await openPage({ script: withToken(await expiredToken()) });
    await expectNote(opened, 'Access has expired. Reload the page.');
    const asked = opened.requests.length;
    await letTimePass(opened);
    expect(opened.requests).toHaveLength(asked);
    await act(opened.page, `widget.token = '${await mintToken()}'`);
    await expectState(opened, 'Not synced yet');
  });

  it('that cannot be fetched is fetched at the next refresh', async () => {
    const script = `let first = true; const widget = document.querySelector('connector-freshness');
      widget.getToken = async () => {
        if (first) { first = false; throw new Error('away'); }
        return (await fetch('/embed-token')).text();
      };`;
    await using opened = await openPage({ script });
    await expectNote(opened, 'The status cannot be loaded at the moment.');
    await letTimePass(opened);
    await expectState(opened, 'Not synced yet');
  });

  it('shows that the connection was deleted', async () => {
    await using opened = await openPage();
    await expectState(opened, 'Not synced yet');
    await org.call('DELETE', `/connections/${connectionId}`);
    await letTimePass(opened);
    await expectNote(opened, 'This connection does not exist any more.');
  });
});

describe('its language', () => {
  it('is that of the document', async () => {
    await run('succeeded', { endedSecondsAgo: 300 });
    await using opened = await openPage({ lang: 'de-AT' });
    await expectState(opened, 'Aktuell');
    expect(await opened.text('last-success')).toBe('Letzter Erfolg: vor 5 Minuten');
    expect(await opened.text('resources')).toMatch(/Datensätze/);
  });

  it('is that of the browser, whatever form the system gives it', async () => {
    await run('succeeded', { endedSecondsAgo: 300 });
    await using opened = await openPage({ lang: '', language: 'en-US@posix' });
    await expectState(opened, 'Up to date');
    expect(await opened.text('resources')).toMatch(/5 minutes ago · 1,200 records$/);
    expect(opened.complaints).toEqual([]);
  });

  it('is that of the element if it has one, and English where there are no words', async () => {
    await using german = await openPage({ elementLang: 'de' });
    await expectState(german, 'Noch nicht synchronisiert');
    await act(german.page, `widget.lang = 'fr'`);
    await expectState(german, 'Not synced yet');
  });
});

describe('its looks', () => {
  const background = async ({ page }: OpenPage) =>
    page.evaluate<string>(
      `getComputedStyle(document.querySelector('connector-freshness').shadowRoot.querySelector('.card')).backgroundColor`,
    );

  it('are light or dark as the reader has it', async () => {
    await using light = await openPage({ browser: { colorScheme: 'light' } });
    await using dark = await openPage({ browser: { colorScheme: 'dark' } });
    expect([await background(light), await background(dark)]).toEqual(['rgb(255, 255, 255)', 'rgb(18, 23, 30)']);
  });

  it('are changed by custom properties', async () => {
    await using opened = await openPage();
    await act(opened.page, `widget.style.setProperty('--connector-freshness-background', 'rgb(1, 2, 3)')`);
    expect(await background(opened)).toBe('rgb(1, 2, 3)');
  });

  const states: readonly (readonly [words: string, prepare: () => Promise<void>])[] = [
    ['Up to date', () => run('succeeded')],
    ['Incomplete', () => run('partial')],
    ['Failing', () => run('failed')],
    ['Syncing', () => run('queued')],
    ['Not synced yet', async () => {}],
  ];

  it('tell states apart by words and by shape', async () => {
    const shapes = new Set<string | null>();
    for (const [words, prepare] of states) {
      connectionId = await createActiveConnection(org);
      await prepare();
      await using opened = await openPage();
      await expectState(opened, words);
      shapes.add(await opened.page.locator('connector-freshness [part="state"] path').getAttribute('d'));
    }
    expect(shapes.size).toBe(states.length);
  });

  it.each(['light', 'dark'] as const)('are accessible: %s', async (colorScheme) => {
    for (const [words, prepare] of states) {
      connectionId = await createActiveConnection(org);
      await prepare();
      await using opened = await openPage({ browser: { colorScheme } });
      await expectState(opened, words);
      await act(opened.page, `widget.shadowRoot.querySelector('details').open = true`);
      await opened.page.evaluate(axeSource);
      const { violations } = await opened.page.evaluate<{ violations: unknown[] }>('axe.run()');
      expect(violations).toEqual([]);
    }
  });

  it('announce a change of state, and nothing when a refresh brings none', async () => {
    await using opened = await openPage();
    await expectState(opened, 'Not synced yet');
    const status = opened.page.locator('connector-freshness [role="status"]');
    expect(await status.getAttribute('aria-live')).toBe('polite');
    await act(
      opened.page,
      `window.said = [];
       const region = widget.shadowRoot.querySelector('[role=status]');
       const options = { subtree: true, childList: true, characterData: true };
       new MutationObserver(() => window.said.push(region.textContent.trim())).observe(region, options);`,
    );
    const before = opened.replies();
    await letTimePass(opened);
    await eventually('it has asked again', async () => opened.replies() > before);
    expect(await opened.page.evaluate('window.said')).toEqual([]);
    await run('failed');
    await letTimePass(opened);
    await expectState(opened, 'Failing');
    expect(await opened.page.evaluate('window.said')).toEqual(['Failing']);
  });
});
