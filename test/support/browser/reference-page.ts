import type { BrowserContextOptions, Page } from 'playwright-core';
import type { TestBrowser } from './browser.ts';

/** The API reference in a browser of its own, and what went wrong in it. */
export interface OpenReference extends AsyncDisposable {
  readonly page: Page;
  /** Errors and warnings of the console, and errors that nothing caught. */
  readonly complaints: readonly string[];
  /** URLs, as they begin. */
  readonly requests: readonly string[];
}

/** Opens it at an operation, for example `tag/connections/POST/connections`, and waits for the operation's title. */
export async function openReference(
  { chromium, origin }: { readonly chromium: TestBrowser; readonly origin: string },
  { at, title, browser }: { readonly at: string; readonly title: string; readonly browser?: BrowserContextOptions },
): Promise<OpenReference> {
  const context = await chromium.browser.newContext({ viewport: { width: 1280, height: 800 }, ...browser });
  const page = await context.newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(`${origin}/api/reference#${at}`);
  await page.getByRole('heading', { name: title }).waitFor();
  return { page, complaints, requests, [Symbol.asyncDispose]: () => context.close() };
}
