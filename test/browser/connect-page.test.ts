import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { source as axeSource } from 'axe-core';
import type { BrowserContext, BrowserContextOptions, FrameLocator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { listen } from '../../src/api/server.ts';
import { openBrowser, type TestBrowser } from '../support/browser/browser.ts';
import { type PageServer, servePage } from '../support/browser/host-page.ts';
import { eventually } from '../support/service/eventually.ts';
import { unusedPort } from '../support/service/temporal-dev-server.ts';
import { type ConnectPlace, goodToken, openConnectPlace } from '../support/sync/connect-sessions.ts';

const resources = new AsyncDisposableStack();
let place: ConnectPlace;
let origin: string;
let chromium: TestBrowser;

beforeAll(async () => {
  const port = await unusedPort();
  // Another site than that of the provider and of the pages around, as in life.
  origin = `http://localhost:${port}`;
  place = resources.use(await openConnectPlace({ publicUrl: origin }));
  const server = await listen(place.api.app, { host: '127.0.0.1', port });
  resources.defer(() => server.stop());
  chromium = resources.use(await openBrowser());
});
afterAll(() => resources.disposeAsync());
beforeEach(async () => {
  place.oauth.sentBack = { realmId: '1' };
  await place.org.call('PATCH', '/oauth/settings', { body: { returnOrigins: ['http://127.0.0.1:9'] } });
});

interface Window extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly complaints: string[];
  /** Every address that was loaded. */
  readonly addresses: string[];
}

/** A browser of its own; complaints of all its windows. */
async function openWindow(options: BrowserContextOptions = {}): Promise<Window> {
  const context = await chromium.browser.newContext({ locale: 'en-US', ...options });
  const complaints: string[] = [];
  const addresses: string[] = [];
  context.on('page', (opened) => {
    opened.on('pageerror', (error) => complaints.push(error.message));
    opened.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    opened.on('request', (request) => addresses.push(`${request.url()} ${request.headers()['referer'] ?? ''}`));
  });
  const page = await context.newPage();
  return { context, page, complaints, addresses, [Symbol.asyncDispose]: () => context.close() };
}

const sessionOf = async (id: string) => (await place.org.call('GET', `/connect-sessions/${id}`)).body;
const statusOf = async (connectionId: string) =>
  (await place.org.call('GET', `/connections/${connectionId}`)).body.status;
const expectConnected = (id: string) =>
  eventually('the session is connected', async () => (await sessionOf(id)).state === 'connected');

async function fillForm(page: Page | FrameLocator, token = goodToken): Promise<void> {
  await page.getByLabel('Account').fill('globex');
  await page.getByLabel('Region').selectOption('eu');
  await page.getByLabel('API token').fill(token);
}

async function expectNoViolations(page: Page, step: string): Promise<void> {
  await page.evaluate(axeSource);
  const found =
    await page.evaluate(`axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
    .then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')))`);
  expect(found, step).toEqual([]);
}

const press = (page: Page | FrameLocator, name: string) => page.getByRole('button', { name, exact: true }).click();
const expectToSee = (page: Page | FrameLocator, words: string) => page.getByText(words, { exact: true }).waitFor();

describe('the page of a session', () => {
  it('takes a customer from two mistakes and a failing test to a connection', async () => {
    const { id, url } = await place.begin(place.withForm);
    await using window = await openWindow();
    const { page } = window;
    await page.goto(url);
    await page.getByRole('heading', { name: 'Connect Acme CRM' }).waitFor();
    await page.getByLabel('Account').fill('globex.example');
    await page.getByLabel('API token').fill('wrong-token');
    await press(page, 'Continue');
    await expectToSee(page, 'Please correct the marked details.');
    await expectToSee(page, 'Please enter one part of a host name, without dots.');
    await expectToSee(page, 'Please fill this in.');
    expect(await page.evaluate('document.activeElement.name')).toBe('account');
    expect(await sessionOf(id)).toMatchObject({ connectionId: null });

    await page.getByLabel('Account').fill('globex');
    await page.getByText('Please enter one part of a host name, without dots.').waitFor({ state: 'hidden' });
    await page.getByLabel('Region').selectOption('us');
    await press(page, 'Continue');
    await expectToSee(page, 'Access was refused. Please check what you entered.');
    const { connectionId } = await sessionOf(id);
    expect(await statusOf(connectionId)).toBe('pending');

    await press(page, 'Change the details');
    expect(await page.getByLabel('Account').inputValue()).toBe('globex');
    expect(await page.getByLabel('API token').inputValue()).toBe('');
    await page.getByLabel('API token').fill(goodToken);
    await press(page, 'Continue');
    await expectToSee(page, 'Acme CRM is connected.');
    expect(await statusOf(connectionId)).toBe('active');
    // The refused token is the only complaint: browsers write down each 4xx.
    expect(window.complaints).toEqual([]);
  });

  it('shows what only the service refuses, beside its value', async () => {
    const { url } = await place.begin({ ...place.withForm, params: {} });
    await using window = await openWindow();
    await window.page.goto(url);
    await window.page.getByLabel('apiUrl').fill('http://10.0.0.1/');
    await fillForm(window.page);
    await press(window.page, 'Continue');
    await window.page.getByText('This value is not accepted. Please check it.').waitFor();
    expect(await window.page.evaluate('document.activeElement.name')).toBe('apiUrl');
  });

  it('keeps its token out of addresses, referrers and the history, and survives a reload', async () => {
    const { token, url } = await place.begin(place.withForm);
    await using window = await openWindow();
    const { page } = window;
    await page.goto(url);
    await page.getByLabel('Account').waitFor();
    expect(page.url()).not.toContain('#');
    expect(await page.evaluate('history.length')).toBeLessThanOrEqual(2);
    await page.reload();
    await page.getByLabel('Account').waitFor();
    expect(window.addresses.join('\n').replaceAll(url, '')).not.toContain(token);
    expect(window.addresses.length).toBeGreaterThan(5);
    expect(place.api.logLines.join('')).not.toContain(token);
  });

  it('says where the link is when it has none, and when it is over', async () => {
    const { id, url } = await place.begin(place.withForm);
    await using window = await openWindow();
    await window.page.goto(url.replace(/#.*/, ''));
    await expectToSee(
      window.page,
      'This page belongs to another window. Please open the link again where you found it.',
    );
    await place.org.call('DELETE', `/connect-sessions/${id}`);
    await window.page.goto('about:blank');
    await window.page.goto(url);
    await expectToSee(window.page, 'This link is no longer valid. Please ask Test for a new one.');
  });

  it('loses nothing when the network is lost', async () => {
    const { id, url } = await place.begin(place.withForm);
    await using window = await openWindow();
    const { page, context } = window;
    await page.goto(url);
    await fillForm(page);
    await context.setOffline(true);
    await press(page, 'Continue');
    await expectToSee(
      page,
      'There is no connection to the service. Check your network, then try again. Nothing is lost.',
    );
    await context.setOffline(false);
    await press(page, 'Continue');
    await expectToSee(page, 'Acme CRM is connected.');
    await expectConnected(id);
  });

  it('is gone through by the keyboard alone', async () => {
    const { url } = await place.begin(place.withForm);
    await using window = await openWindow();
    const { page } = window;
    await page.goto(url);
    await page.getByLabel('Account').waitFor();
    const focus = () => page.evaluate('document.activeElement.name || document.activeElement.textContent');
    await page.keyboard.press('Tab');
    expect(await focus()).toBe('account');
    await page.keyboard.type('globex');
    await page.keyboard.press('Tab');
    expect(await focus()).toBe('Where do I find this?');
    await page.keyboard.press('Tab');
    await page.keyboard.type('e');
    await page.getByLabel('First day').press('Tab');
    await page.getByLabel('API token').focus();
    await page.keyboard.type(goodToken);
    await page.keyboard.press('Enter');
    await expectToSee(page, 'Acme CRM is connected.');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1');
  });

  it.each([
    ['de-AT', '', 'Acme CRM verbinden', 'Weiter', 'Bitte ausfüllen.'],
    ['fr-FR', '', 'Connecter Acme CRM', 'Continuer', 'Veuillez remplir ce champ.'],
    ['es-ES', '', 'Conectar Acme CRM', 'Continuar', 'Rellene este campo.'],
    ['ja-JP', '', 'Connect Acme CRM', 'Continue', 'Please fill this in.'],
    ['en-US', '?lang=fr', 'Connecter Acme CRM', 'Continuer', 'Veuillez remplir ce champ.'],
  ])('speaks the language of its customer: %s %s', async (locale, query, title, next, words) => {
    const { url } = await place.begin(place.withForm);
    await using window = await openWindow({ locale });
    await window.page.goto(url.replace('#', `${query}#`));
    await window.page.getByRole('heading', { name: title }).waitFor();
    await press(window.page, next);
    await window.page.getByText(words).first().waitFor();
    expect(await window.page.evaluate('document.documentElement.lang')).toBe(
      /[?]lang=(?<lang>..)/.exec(query)?.[1] ?? (locale === 'ja-JP' ? 'en' : locale.slice(0, 2)),
    );
  });

  it.each(['light', 'dark'] as const)(
    'has no barrier at any step, in the color and with the logo of the org: %s',
    async (colorScheme) => {
      const logo = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30"><rect width="90" height="30" fill="#0a7f5a"/></svg>').toString('base64')}`;
      await place.org.call('PATCH', '/connect-settings', { body: { name: 'Globex Cloud', color: '#ffd400', logo } });
      const { url } = await place.begin(place.withForm);
      await using window = await openWindow({ colorScheme, viewport: { width: 320, height: 640 } });
      const { page } = window;
      const isNarrow = () => page.evaluate<boolean>('document.documentElement.scrollWidth <= 320');
      await page.goto(url);
      await expectToSee(page, 'Globex Cloud');
      await expectNoViolations(page, 'form');
      expect(await page.evaluate("getComputedStyle(document.querySelector('[type=submit]')).color")).toBe(
        'rgb(0, 0, 0)',
      );
      await press(page, 'Continue');
      await expectNoViolations(page, 'mistakes');
      expect(await isNarrow()).toBe(true);
      await fillForm(page, 'wrong-token');
      await press(page, 'Continue');
      await page.getByRole('button', { name: 'Try again' }).waitFor();
      await expectNoViolations(page, 'failed test');
      expect(await isNarrow()).toBe(true);
      await press(page, 'Change the details');
      await page.getByLabel('API token').fill(goodToken);
      await press(page, 'Continue');
      await expectToSee(page, 'Acme CRM is connected.');
      await expectNoViolations(page, 'end');
      const consent = await place.begin(place.withConsent);
      await page.goto(consent.url);
      await page.getByRole('button', { name: 'Continue to Acme Books' }).waitFor();
      await expectNoViolations(page, 'consent');
      expect(await isNarrow()).toBe(true);
      await place.org.call('PATCH', '/connect-settings', { body: { name: null, color: null, logo: null } });
    },
  );

  it('is sent as at most 31 kB of script, packed and not', async () => {
    const texts: Record<string, unknown> = JSON.parse(readFileSync('src/connect-page/words.json', 'utf8'));
    const shape = (value: unknown): unknown =>
      typeof value === 'string'
        ? [...value.matchAll(/\{\d\}/g)].length
        : Object.fromEntries(Object.entries(value as object).map(([key, inner]) => [key, shape(inner)]));
    for (const lang of Object.keys(texts)) {
      expect(shape(texts[lang])).toEqual(shape(texts['en']));
      const script = await (await place.api.app.request(`/embed/connect/page.${lang}.js`)).text();
      expect(script.length).toBeLessThan(31_000);
      expect(gzipSync(script).length).toBeLessThan(10_300);
    }
  });
});

describe('the consent', () => {
  it('is given in another window, with PKCE, and the page goes on by itself', async () => {
    const { id, url } = await place.begin(place.withConsent);
    await using window = await openWindow();
    const { page } = window;
    await page.goto(url);
    const popup = page.waitForEvent('popup');
    await press(page, 'Continue to Acme Books');
    const opened = await popup;
    await expectToSee(page, 'Acme Books is connected.');
    await expectConnected(id);
    expect(place.oauth.requests.at(-1)?.fields).toHaveProperty('code_verifier');
    await eventually('the other window is closed', async () => opened.isClosed());
    expect(window.complaints).toEqual([]);
  });

  it('is given in the page itself where windows are blocked', async () => {
    const { id, url } = await place.begin(place.withConsent);
    await using window = await openWindow({ locale: 'de-DE' });
    await window.page.addInitScript('window.open = () => null');
    await window.page.goto(url.replace('#', '?lang=es#'));
    await press(window.page, 'Continuar a Acme Books');
    await expectToSee(window.page, 'Acme Books está conectado.');
    await expectConnected(id);
    expect(window.page.url()).toMatch(new RegExp(`/connect/${id}$`));
  });

  it('can be declined, and asked for again', async () => {
    const { id, url } = await place.begin(place.withConsent);
    await using window = await openWindow();
    const { page, context } = window;
    let declines = true;
    await context.route(`${place.oauth.url}/authorize**`, async (route) => {
      if (!declines) return await route.continue();
      const state = new URL(route.request().url()).searchParams.get('state') ?? '';
      const back = `${origin}/api/v1/oauth/callback?${new URLSearchParams({ error: 'access_denied', state }).toString()}`;
      await route.fulfill({ status: 302, headers: { location: back } });
    });
    await page.goto(url);
    await press(page, 'Continue to Acme Books');
    await expectToSee(page, 'You did not give permission. If that was a mistake, try again.');
    declines = false;
    await press(page, 'Continue to Acme Books');
    await expectToSee(page, 'Acme Books is connected.');
    await expectConnected(id);
  });

  it('of a link that somebody else opens connects nobody', async () => {
    const { id, url } = await place.begin(place.withConsent);
    await using attacker = await openWindow();
    await attacker.page.addInitScript('window.open = () => null');
    let link = '';
    await attacker.context.route(`${place.oauth.url}/authorize**`, async (route) => {
      link = route.request().url();
      await route.abort();
    });
    await attacker.page.goto(url);
    await press(attacker.page, 'Continue to Acme Books');
    await eventually('they have the link', async () => link !== '');
    await using victim = await openWindow();
    await victim.page.goto(link);
    await victim.page.getByText('The permission came from another browser').waitFor();
    expect(await sessionOf(id)).toMatchObject({ state: 'open', step: 'authorize', problem: { code: 'other_browser' } });
  });

  it('is one for two tabs of a browser', async () => {
    const { id, url } = await place.begin(place.withConsent);
    await using window = await openWindow();
    const second = await window.context.newPage();
    await window.page.goto(url);
    await second.goto(url);
    await second.getByRole('button', { name: 'Continue to Acme Books' }).waitFor();
    await press(window.page, 'Continue to Acme Books');
    await expectToSee(window.page, 'Acme Books is connected.');
    await expectConnected(id);
    await second.reload();
    await expectToSee(second, 'Acme Books is connected.');
    const { body } = await place.org.call('GET', '/connections');
    const { connectionId } = await sessionOf(id);
    expect(body.filter((one: { id: string }) => one.id === connectionId)).toHaveLength(1);
  });

  it('ends at the page of the org, which confirms it', async () => {
    const returnUrl = 'http://127.0.0.1:9/done';
    const { id, url } = await place.begin({ ...place.withConsent, returnUrl });
    await using window = await openWindow();
    await window.context.route('http://127.0.0.1:9/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: 'Back' }),
    );
    await window.page.goto(url);
    await press(window.page, 'Continue to Acme Books');
    await window.page.waitForURL(`${returnUrl}?code=*`);
    const { connectionId } = await sessionOf(id);
    expect(await statusOf(connectionId)).toBe('pending');
    const code = new URL(window.page.url()).searchParams.get('code');
    const { status } = await place.org.call('POST', '/connect-sessions/confirm', { body: { sessionId: id, code } });
    expect(status).toBe(200);
    expect(await statusOf(connectionId)).toBe('active');
  });
});

/** The code that the guide tells integrators to use. */
const guide = readFileSync(new URL('../../docs/connect.md', import.meta.url), 'utf8');
const shown = (language: string): string =>
  new RegExp(`\`\`\`${language}\\n(?<code>[^\`]*connector-connect[^\`]*)\`\`\``).exec(guide)?.groups?.['code'] ?? '';

describe('the widget', () => {
  async function host(token: () => string): Promise<PageServer> {
    const markup = shown('html').replaceAll('https://sync.example.com', origin);
    const html = `<!doctype html><html lang="en"><head><title>Settings</title><script src="/page.js" defer></script></head><body><main><h1>Settings</h1>${markup}</main></body></html>`;
    return await servePage({ html, script: shown('js'), serviceOrigin: origin, mintToken: async () => token() });
  }

  it('connects a customer in a page of the org, with the code of the guide', async () => {
    let token = '';
    await using server = await host(() => token);
    const made = await place.begin({ ...place.withForm, allowedOrigins: [new URL(server.url).origin] });
    token = made.token;
    await using window = await openWindow();
    const { page } = window;
    const said: string[] = [];
    page.on('console', (message) => said.push(message.text()));
    await page.goto(server.url);
    const frame = page.frameLocator('connector-connect iframe');
    await fillForm(frame);
    await eventually('the frame is as high as the page in it', async () => {
      const box = await page.locator('connector-connect iframe').boundingBox();
      const inside = await frame.locator('body').boundingBox();
      return box !== null && inside !== null && Math.abs(box.height - inside.height) < 2;
    });
    await press(frame, 'Continue');
    await expectToSee(frame, 'Acme CRM is connected.');
    const { connectionId } = await sessionOf(made.id);
    await eventually('the page knows', async () => said.includes(`connected ${connectionId}`));
    await press(frame, 'Close');
    await page.locator('connector-connect').waitFor({ state: 'detached' });
    expect(window.complaints).toEqual([]);
  });

  it.each([false, true])('opens the provider beside the page, windows blocked: %s', async (isBlocked) => {
    let token = '';
    await using server = await host(() => token);
    const made = await place.begin({ ...place.withConsent, allowedOrigins: [new URL(server.url).origin] });
    token = made.token;
    await using window = await openWindow();
    if (isBlocked) await window.context.addInitScript('window.open = () => null');
    await window.page.goto(server.url);
    const frame = window.page.frameLocator('connector-connect iframe');
    await press(frame, 'Continue to Acme Books');
    if (isBlocked) {
      await expectToSee(frame, 'Your browser has blocked the window.');
      await frame.getByRole('link', { name: 'Open Acme Books in a new tab' }).click();
    }
    await expectToSee(frame, 'Acme Books is connected.');
    await expectConnected(made.id);
  });

  it('of the freshness lets its customer authorize again, in a window of the service', async () => {
    const first = await place.begin(place.withConsent);
    await using window = await openWindow();
    await window.page.goto(first.url);
    await press(window.page, 'Continue to Acme Books');
    await expectConnected(first.id);
    const { connectionId } = await sessionOf(first.id);
    const { body } = await place.org.call('POST', '/tokens/embed', { body: { connectionId, scopes: ['reauthorize'] } });
    const script = `document.querySelector('connector-freshness').token = ${JSON.stringify(body.token)};`;
    const markup = `<script src="${origin}/embed/freshness.js"></script><connector-freshness api-url="${origin}"></connector-freshness>`;
    const html = `<!doctype html><html lang="en"><head><title>Settings</title><script src="/page.js" defer></script></head><body>${markup}</body></html>`;
    await using server = await servePage({ html, script, serviceOrigin: origin, mintToken: async () => '' });
    await window.page.goto(server.url);
    const popup = window.page.waitForEvent('popup');
    await press(window.page, 'Connect again');
    const opened = await popup;
    const before = place.oauth.requests.length;
    await press(opened, 'Continue to Acme Books');
    await expectToSee(opened, 'Acme Books is connected.');
    expect(place.oauth.requests.length).toBe(before + 1);
  });

  it('is framed by no other page', async () => {
    let token = '';
    await using server = await host(() => token);
    const made = await place.begin({ ...place.withForm, allowedOrigins: ['https://app.acme.example'] });
    token = made.token;
    await using window = await openWindow();
    await window.page.goto(server.url);
    await eventually('the browser refuses', async () =>
      window.complaints.some((one) => one.includes('frame-ancestors')),
    );
    const { headers } = await place.api.app.request(`/connect/${made.id}`);
    expect(headers.get('content-security-policy')).toContain('frame-ancestors https://app.acme.example');
    expect(headers.get('x-frame-options')).toBeNull();
    const unknown = await place.api.app.request('/connect/cse_01kaemm0dce7xb1k4c1m1f2p3q');
    expect(unknown.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });
});
