import { source as axeSource } from 'axe-core';
import { describe, expect, it } from 'vitest';
import { expectSignIn, expectToSee, press, useBrowsedConsole } from '../support/console/browsed-console.ts';
import { consolePages } from '../support/console/console-pages.ts';
import { endRunAs } from '../support/service/ended-run.ts';

const us = useBrowsedConsole();

/** What reaches beyond the right edge of the row or part that it stands in. */
const beyondTheirRows = `[...document.querySelectorAll('main :is(tbody tr, li, dl, .notice) :not(.unseen)')]
  .filter((part) => {
    const edge = part.parentElement.closest('tr, li, dl, .notice').getBoundingClientRect().right;
    return part.getBoundingClientRect().right > edge + 1;
  })
  .map((part) => part.outerHTML.slice(0, 120))`;

/** Of a row, px: two lines take 62, three 82. */
const twoLinesMax = 72;

describe('every page of the console', () => {
  it.each([
    ['light', 'axe.run()'],
    ['dark', `axe.run({ runOnly: ['color-contrast'] })`],
  ] as const)('is accessible, and the browser has no complaint: %s', async (colorScheme, examine) => {
    await using window = await us().open({ colorScheme });
    const { page } = window;
    const issues: Record<string, unknown> = {};
    for (const [name, path] of Object.entries(consolePages(us().rich))) {
      await us().goTo(page, path);
      await page.evaluate(`for (const details of document.querySelectorAll('details')) details.open = true`);
      await page.evaluate(axeSource);
      const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(examine);
      if (violations.length > 0) issues[name] = violations.map(({ id, nodes }) => [id, nodes[0]?.html]);
    }
    expect(issues).toEqual({});
    expect(window.complaints).toEqual([]);
  });

  it('fits a screen 320 pixels wide, and all of it its rows', async () => {
    await using window = await us().open({ viewport: { width: 320, height: 640 } });
    const widths: Record<string, number> = {};
    const beyond: Record<string, readonly string[]> = {};
    for (const [name, path] of Object.entries(consolePages(us().rich))) {
      await us().goTo(window.page, path);
      await window.page.evaluate(`for (const details of document.querySelectorAll('details')) details.open = true`);
      const width = await window.page.evaluate<number>('document.documentElement.scrollWidth');
      if (width > 320) widths[name] = width;
      const parts = await window.page.evaluate<readonly string[]>(beyondTheirRows);
      if (parts.length > 0) beyond[name] = parts;
    }
    expect(widths).toEqual({});
    expect(beyond).toEqual({});
  });

  it.each(['/connections', '/runs', '/deliveries', `/quarantine?connectionId=`])(
    'has rows of two lines on a screen 390 pixels wide: %s',
    async (path) => {
      await using window = await us().open({ viewport: { width: 390, height: 800 } });
      await us().goTo(window.page, path.endsWith('=') ? path + us().rich.partialConnectionId : path);
      const heights = await window.page.evaluate<readonly number[]>(
        `[...[...document.querySelectorAll('main table')].at(-1).querySelectorAll('tbody tr')].map((row) => row.offsetHeight)`,
      );
      expect(heights.length).toBeGreaterThan(10);
      expect(Math.max(...heights)).toBeLessThan(twoLinesMax);
    },
  );

  it('is reached with the keyboard alone', async () => {
    await using window = await us().open();
    const { page } = window;
    await us().goTo(page, '');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await us().goTo(page, '');
    for (let n = 0; n < 5; n += 1) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Connections' }).waitFor();
    expect(await page.getByRole('link', { name: 'Connections' }).first().getAttribute('aria-current')).toBe('page');
  });

  it('shows times in the zone of the reader, and in UTC without the script', async () => {
    await using window = await us().open({ timezoneId: 'Asia/Tokyo' });
    await us().goTo(window.page, `/runs/${us().rich.runId}`);
    const time = window.page.locator('time:not([data-ago])').first();
    const iso = (await time.getAttribute('datetime')) ?? '';
    const inTokyo = new Date(iso).toLocaleTimeString('en-GB', { timeZone: 'Asia/Tokyo' });
    expect(await time.innerText()).toContain(inTokyo);
    await using plain = await us().open({ javaScriptEnabled: false });
    await us().goTo(plain.page, `/runs/${us().rich.runId}`);
    expect(await plain.page.locator('time:not([data-ago])').first().innerText()).toMatch(/ UTC$/);
  });
});

describe('the overview', () => {
  it('names the error of a failed run, and leads to the run', async () => {
    await using window = await us().openAt('');
    const { page } = window;
    const line = page.getByRole('listitem').filter({ hasText: 'Northgate Clinics' });
    expect(await line.innerText()).toMatch(/The last run of \w+ failed: auth_failed/);
    await line.getByRole('link', { name: 'The last run' }).click();
    await expectToSee(page, 'Why it failed');
    await expectToSee(page, 'auth_failed');
  });
});

describe('signing in and out', () => {
  it('refuses a wrong key in words, and forgets nothing of where it was going', async () => {
    const page = await (await us().chromium.browser.newContext()).newPage();
    await us().goTo(page, '/runs?status=failed');
    await page.getByLabel('API key').fill('ck_wrong');
    await press(page, 'Sign in');
    await page.getByRole('alert').filter({ hasText: 'This key is not valid' }).waitFor();
    await page.getByLabel('API key').fill(us().org.apiKey);
    await press(page, 'Sign in');
    await page.waitForURL('**/console/runs?status=failed');
    await press(page, 'Sign out');
    await expectSignIn(page);
    await us().goTo(page, '');
    await expectSignIn(page);
    await page.context().close();
  });
});

describe('a run under way', () => {
  it('is shown as it goes on, without losing what the reader has opened', async () => {
    const { body: run } = await us().org.call('POST', `/connections/${us().rich.failingConnectionId}/sync`, {
      body: { resource: 'agents' },
    });
    await using window = await us().openAt(`/runs/${run.id}`);
    const { page } = window;
    await page.evaluate('window.stays = true');
    await page.locator('#status', { hasText: 'Queued' }).waitFor();
    await endRunAs(us().api.deps.db, run.id, { status: 'failed' });
    await page.locator('#status', { hasText: 'Failed' }).waitFor();
    await expectToSee(page, 'Why it failed');
    await expectToSee(page, 'source_rejected');
    expect(await page.evaluate('window.stays')).toBe(true);
    await us().goTo(page, `/runs/${us().rich.runningRunId}`);
    await page.locator('#call-3 > summary').click();
    await us()
      .api.deps.db.updateTable('runs')
      .set({ recordsIn: 99_999 })
      .where('id', '=', us().rich.runningRunId)
      .execute();
    await expectToSee(page, '99,999');
    expect(await page.locator('#call-3').getAttribute('open')).toBe('');
  });

  it('is shown no more when the session is over', async () => {
    const { body: key } = await us().org.call('POST', '/api-keys');
    await using window = await us().open({}, key.key);
    await us().goTo(window.page, `/runs/${us().rich.runningRunId}`);
    await us().org.call('DELETE', `/api-keys/${key.id}`);
    await expectSignIn(window.page);
  });
});

describe('an API key', () => {
  it('is created with an expiry, names who made it, and is revoked with the key that made it', async () => {
    await using window = await us().openAt('/api-keys');
    const { page } = window;
    await page.getByLabel('Expires').selectOption('in 7 days');
    await press(page, 'Create a key');
    const leaked = (await page.locator('#once-0').textContent()) ?? '';
    const { body: made } = await us().org.call('POST', '/api-keys', { apiKey: leaked });
    await us().goTo(page, '/api-keys');
    const row = page.getByRole('row').filter({ hasText: made.key.slice(-4) });
    expect(await row.textContent()).toContain(`…${leaked.slice(-4)}`);
    await page.getByRole('button', { name: 'Revoke with the keys it made' }).first().click();
    await expectToSee(page, 'The key and those that it made are revoked');
    expect((await us().org.call('GET', '/workspaces', { apiKey: made.key })).status).toBe(401);
  });

  it('is created, opens a session, and ends it when it is revoked', async () => {
    await using window = await us().openAt('/api-keys');
    const { page } = window;
    await press(page, 'Create a key');
    const key = (await page.locator('#once-0').textContent()) ?? '';
    await page.getByRole('link', { name: 'Go on' }).click();
    expect(await page.content()).not.toContain(key);
    await using other = await us().open({}, key);
    const row = page.getByRole('row').filter({ hasText: key.slice(-4) });
    await row.getByRole('button', { name: 'Revoke' }).click();
    await expectToSee(page, 'The key is revoked');
    await us().goTo(other.page, '/runs');
    await expectSignIn(other.page);
  });
});

describe('an id', () => {
  it.each([
    ['a run', (): string => `/runs/${us().rich.runningRunId}`, (): string => us().rich.runningRunId],
    ['a connection', (): string => `/connections/${us().rich.connectionId}`, (): string => us().rich.connectionId],
    ['a record', (): string => `/quarantine/${us().rich.quarantineId}`, (): string => us().rich.quarantineId],
  ])('of %s is copied with its button', async (_name, path, id) => {
    await using window = await us().open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await us().goTo(window.page, path());
    await press(window.page, 'Copy');
    await expectToSee(window.page, 'Copied');
    expect(await window.page.evaluate('navigator.clipboard.readText()')).toBe(id());
    expect(window.complaints).toEqual([]);
  });
});

describe('without JavaScript', () => {
  it('everything is done by links and forms', async () => {
    await using window = await us().open({ javaScriptEnabled: false });
    const { page } = window;
    await page.getByRole('link', { name: 'Connections' }).click();
    await page.getByLabel('Name or customer id').fill('alder');
    await press(page, 'Filter');
    await page.getByRole('link', { name: 'Alder & Finch' }).click();
    expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0);
    await press(page, 'Sync');
    await expectToSee(page, 'The run is queued.');
    await press(page, 'Cancel');
    await us().goTo(page, '/new-spec');
    await page.getByLabel('YAML or JSON').fill('metadata: { key: x }');
    await press(page, 'Check it');
    await expectToSee(page, /issues? to correct/);
    await us().goTo(page, '/runs');
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByRole('link', { name: 'Newest' }).waitFor();
    expect(window.complaints).toEqual([]);
  });
});
