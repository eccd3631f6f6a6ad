/**
 * `npm run screenshots [name…]`: fills an org and writes pages of the console, light and dark, to
 * `docs/images/console`. `npm run screenshots connect` writes those of the page for customers to `docs/images/connect`.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { listen } from '../src/api/server.ts';
import { openBrowser } from '../test/support/browser/browser.ts';
import { showConnectSteps } from '../test/support/browser/connect-pictures.ts';
import { consolePages, signIn } from '../test/support/console/console-pages.ts';
import { fillRichOrg } from '../test/support/console/rich-org.ts';
import { startApi } from '../test/support/service/api.ts';
import setup from '../test/support/service/setup.ts';
import { unusedPort } from '../test/support/service/temporal-dev-server.ts';
import { openConnectPlace } from '../test/support/sync/connect-sessions.ts';

const folder = process.env['SCREENSHOTS_FOLDER'] ?? join(import.meta.dirname, '../docs/images/console');
const named = process.argv.slice(2);
const width = Number(process.env['SCREENSHOTS_WIDTH'] ?? 1280);
const schemes = ['light', 'dark'] as const;

const teardown = await setup();
try {
  if (named.includes('connect')) await showConnect();
  else await showConsole();
} finally {
  await teardown();
}

async function showConsole(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const temporalUi = { url: 'http://localhost:8244', namespace: 'default' };
  const api = stack.use(await startApi({ console: { temporalUi } }));
  const org = await api.newOrg();
  const rich = await fillRichOrg(api, org);
  const server = await listen(api.app, { host: '127.0.0.1', port: 0 });
  stack.defer(() => server.stop());
  const { browser } = stack.use(await openBrowser());
  const origin = `http://127.0.0.1:${server.port}`;
  await mkdir(folder, { recursive: true });
  for (const colorScheme of schemes) {
    const viewport = { width, height: 800 };
    await using window = await signIn(browser, { origin, apiKey: org.apiKey }, { colorScheme, viewport });
    for (const [name, path] of Object.entries(consolePages(rich))) {
      if (named.length > 0 && !named.includes(name)) continue;
      await window.page.goto(`${origin}/console${path}`);
      await window.page.setViewportSize({ width, height: await heightOf(window.page) });
      const picture = await window.page.screenshot();
      await writeFile(join(folder, `${name}-${colorScheme}.png`), picture);
    }
    if (window.complaints.length > 0) throw new Error(window.complaints.join('\n'));
  }
}

async function showConnect(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const port = await unusedPort();
  const place = stack.use(await openConnectPlace({ publicUrl: `http://localhost:${port}` }));
  const server = await listen(place.api.app, { host: '127.0.0.1', port });
  stack.defer(() => server.stop());
  const { browser } = stack.use(await openBrowser());
  const pictures = process.env['SCREENSHOTS_FOLDER'] ?? join(import.meta.dirname, '../docs/images/connect');
  await mkdir(pictures, { recursive: true });
  const take = async (name: string, page: Page) => {
    const path = join(pictures, `${name}.png`);
    await writeFile(path, await page.screenshot({ fullPage: true }));
  };
  await showConnectSteps(browser, place, { take, width: Number(process.env['SCREENSHOTS_WIDTH'] ?? 640) });
}

/** Avoids scrolling; a long page is cut. */
async function heightOf(page: Page): Promise<number> {
  await page.setViewportSize({ width, height: 600 });
  return Math.min(await page.evaluate<number>('document.documentElement.scrollHeight'), 1500);
}
