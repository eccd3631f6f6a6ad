import type { Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { type ApiServer, listen } from '../../../src/api/server.ts';
import { openBrowser, type TestBrowser } from '../browser/browser.ts';
import { startApi, type TestApi, type TestOrg } from '../service/api.ts';
import { type SignedIn, signIn } from './console-pages.ts';
import { fillRichOrg, type RichOrg } from './rich-org.ts';

/** A console with an org that has something of everything, and a browser before it. */
export interface BrowsedConsole extends AsyncDisposable {
  readonly api: TestApi;
  readonly org: TestOrg;
  readonly rich: RichOrg;
  readonly chromium: TestBrowser;
  /** A window that is signed in. */
  open(options?: Parameters<typeof signIn>[2], apiKey?: string): Promise<SignedIn>;
  /** A window on a page, where every question is confirmed. */
  openAt(path: string): Promise<SignedIn>;
  goTo(page: Page, path: string): Promise<unknown>;
}

/** Starts them for all tests of a file. */
export function useBrowsedConsole(): () => BrowsedConsole {
  let console: BrowsedConsole;
  beforeAll(async () => {
    console = await browseConsole();
  });
  afterAll(() => console[Symbol.asyncDispose]());
  return () => console;
}

async function browseConsole(): Promise<BrowsedConsole> {
  const resources = new AsyncDisposableStack();
  const [api, chromium] = await Promise.all([startApi(), openBrowser()]);
  resources.use(api);
  resources.use(chromium);
  const org = await api.newOrg();
  const rich = await fillRichOrg(api, org);
  const server: ApiServer = await listen(api.app, { host: '127.0.0.1', port: 0 });
  resources.defer(() => server.stop());
  const origin = `http://127.0.0.1:${server.port}`;
  const goTo = (page: Page, path: string) => page.goto(`${origin}/console${path}`);
  const open: BrowsedConsole['open'] = (options = {}, apiKey = org.apiKey) =>
    signIn(chromium.browser, { origin, apiKey }, options);
  return {
    api,
    org,
    rich,
    chromium,
    open,
    goTo,
    async openAt(path) {
      const window = await open();
      acceptQuestions(window.page);
      await goTo(window.page, path);
      return window;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Presses the first button of this name. */
export const press = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('button', { name, exact: true }).first().click();

/** Waits for words of the page. */
export const expectToSee = (page: Page, words: string | RegExp): Promise<void> =>
  page.getByText(words).first().waitFor();

/** Waits until the page asks for a key. */
export const expectSignIn = (page: Page): Promise<void> => page.getByLabel('API key').waitFor();

/** Confirms every question. */
export const acceptQuestions = (page: Page): unknown => page.on('dialog', (dialog) => void dialog.accept());
