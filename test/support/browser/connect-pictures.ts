import type { Browser, Page } from 'playwright-core';
import type { ConnectPlace } from '../sync/connect-sessions.ts';
import { goodToken } from '../sync/connect-sessions.ts';

type Take = (name: string, page: Page) => Promise<void>;

/** Shows each step of the page for customers; `take` gets a name for it. */
export async function showConnectSteps(
  browser: Browser,
  { begin, withForm, withConsent, org }: ConnectPlace,
  { take, width }: { readonly take: Take; readonly width: number },
): Promise<void> {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="32" height="32"><circle cx="16" cy="16" r="15" fill="#0a7f5a"/><path d="M9 16l5 5 9-10" stroke="#fff" stroke-width="3" fill="none"/></svg>';
  const logo = `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
  await org.call('PATCH', '/connect-settings', { body: { name: 'Globex Cloud', color: '#0a7f5a', logo } });
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ colorScheme, locale: 'en-US', viewport: { width, height: 700 } });
    const page = await context.newPage();
    const shoot = (name: string) => take(`${name}-${colorScheme}`, page);
    await page.goto((await begin(withForm)).url);
    await page.getByLabel('Account').fill('globex.example');
    await page.getByLabel('Region').selectOption('eu');
    await page.getByLabel('API token').fill(goodToken);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('alert').first().waitFor();
    await shoot('form');
    await page.getByLabel('Account').fill('globex');
    await page.getByLabel('API token').fill('wrong-token');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    await shoot('test');
    await page.goto((await begin(withConsent)).url);
    await page.getByRole('button', { name: 'Continue to Acme Books' }).waitFor();
    await shoot('consent');
    await page.getByRole('button', { name: 'Continue to Acme Books' }).click();
    await page.getByText('Acme Books is connected.').waitFor();
    await shoot('done');
    await context.close();
  }
}
