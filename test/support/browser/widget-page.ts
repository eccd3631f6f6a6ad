import { readFileSync } from 'node:fs';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { eventually } from '../service/eventually.ts';
import type { TestBrowser } from './browser.ts';
import { type PageServer, servePage } from './host-page.ts';

/** The code that the guide of the widget tells integrators to use. */
const guide = readFileSync(new URL('../../../docs/widget.md', import.meta.url), 'utf8');
/** The code of that language in the guide; empty: it has none. */
const shown = (language: string): string =>
  new RegExp(`\`\`\`${language}\\n(?<code>[^\`]*connector-freshness[^\`]*)\`\`\``).exec(guide)?.groups?.['code'] ?? '';

/** What differs from the guide's page. */
export interface PageOptions {
  /** Without it the widget asks the service that its script came from. */
  readonly apiUrl?: false;
  readonly script?: string;
  readonly lang?: string;
  readonly elementLang?: string;
  /** What `navigator.language` is. */
  readonly language?: string;
  readonly mint?: () => Promise<string>;
  readonly browser?: BrowserContextOptions;
}

/** A page of a customer's with the guide's markup, in a browser of its own, and what went wrong in it. */
export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  readonly host: PageServer;
  readonly complaints: readonly string[];
  /** As they begin. */
  readonly requests: readonly string[];
  /** How many reads of the connection have their response. */
  readonly replies: () => number;
  text(part: string): Promise<string>;
}

/** Where the widget comes from, and what shows it. */
interface WidgetService {
  readonly serviceOrigin: string;
  readonly chromium: TestBrowser;
  readonly mintToken: () => Promise<string>;
}

/** Opens the page. */
export async function openWidgetPage(
  { serviceOrigin, chromium, mintToken }: WidgetService,
  { apiUrl, script, lang = 'en', elementLang, language, mint, browser }: PageOptions = {},
): Promise<OpenPage> {
  const stack = new AsyncDisposableStack();
  const markup = shown('html').replaceAll('https://sync.example.com', serviceOrigin);
  const told = apiUrl === false ? markup.replace(/ api-url="[^"]*"/, '') : markup;
  const element = elementLang === undefined ? told : told.replace('<connector-freshness', `$& lang="${elementLang}"`);
  const head = `<meta charset="utf-8"><title>Settings</title><script src="/page.js" defer></script>`;
  const html = `<!doctype html><html lang="${lang}"><head>${head}</head><body><main><h1>Settings</h1>${element}</main></body></html>`;
  const code = script ?? shown('js');
  const host = stack.use(await servePage({ html, script: code, serviceOrigin, mintToken: mint ?? mintToken }));
  const context = await chromium.browser.newContext(browser);
  stack.defer(() => context.close());
  const page = await context.newPage();
  if (language !== undefined)
    await page.addInitScript(
      `Object.defineProperty(navigator, 'language', { get: () => ${JSON.stringify(language)} })`,
    );
  const complaints: string[] = [];
  const requests: string[] = [];
  let replies = 0;
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('requestfinished', (request) => {
    if (request.url().endsWith('/embed/connection')) replies += 1;
  });
  page.on('request', (request) => requests.push(`${request.method()} ${request.url()}`));
  await page.clock.install();
  await page.goto(host.url);
  return {
    page,
    host,
    complaints,
    requests,
    replies: () => replies,
    text: async (part) => (await page.locator(`connector-freshness [part="${part}"]`).innerText()).trim(),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Waits until a part of the widget has these words; fails with what the page has instead. */
const shows = async (
  { text, complaints, requests }: OpenPage,
  part: 'state' | 'note',
  words: string,
): Promise<void> => {
  await eventually(
    `the ${part} is "${words}"`,
    async () => {
      const found = await text(part);
      if (found !== words) throw new Error(JSON.stringify({ found, complaints, requests }));
      return true;
    },
    { timeoutMs: 15_000 },
  );
};
/** Waits until the state of the widget is this. */
export const expectState = (opened: OpenPage, words: string) => shows(opened, 'state', words);
/** Waits until the note of the widget is this. */
export const expectNote = (opened: OpenPage, words: string) => shows(opened, 'note', words);
/** Runs in the page, with the element as `widget`. */
export const act = (page: Page, code: string): Promise<unknown> =>
  page.evaluate(`{ const widget = document.querySelector('connector-freshness'); ${code} }`);
/** Lets the page's own clock reach the next refresh. */
export const letTimePass = ({ page }: OpenPage) => page.clock.runFor(40_000);
