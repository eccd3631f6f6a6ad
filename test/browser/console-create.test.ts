import { describe, expect, it } from 'vitest';
import { acceptQuestions, expectToSee, press, useBrowsedConsole } from '../support/console/browsed-console.ts';

const us = useBrowsedConsole();

describe('a connection', () => {
  it.each([
    ['with the script', true, 'Zendesk Support'],
    ['without it', false, 'Jira Cloud'],
  ])('is created from the catalogue, and a param of it is changed: %s', async (_name, javaScriptEnabled, connector) => {
    await using window = await us().open({ javaScriptEnabled });
    const { page } = window;
    acceptQuestions(page);
    await page.getByRole('link', { name: 'Catalogue' }).click();
    await page.getByLabel('Name or resource').fill(connector);
    await press(page, 'Filter');
    await page.getByRole('link', { name: connector }).click();
    await page.getByLabel('Its records go to').selectOption('a PostgreSQL database of the customer');
    await press(page, 'Use this connector');
    await expectToSee(page, 'The draft is created.');
    await press(page, 'Publish');
    await expectToSee(page, 'The version is published');
    await page.getByRole('link', { name: 'Create a connection' }).click();

    const account = page.getByLabel(/^(?:Subdomain|Site)$/);
    const fillSecrets = async () => {
      await page.getByLabel('API token').fill('a-token');
      await page.getByLabel('Address of the PostgreSQL database').fill('postgres://bird@db.bluebird.example/blue');
    };
    await page.getByLabel('Workspace').selectOption({ index: 1 });
    await page.getByLabel('Name', { exact: true }).fill(`${connector} of Bluebird`);
    await page.getByLabel(/^Email address/).fill('mara@bluebird.example');
    await account.fill('bluebird.example');
    await fillSecrets();
    await press(page, 'Create the connection');
    await expectToSee(page, 'Expected one label of a host name');
    await account.fill('bluebird');
    await fillSecrets();
    await press(page, 'Create the connection');
    await expectToSee(page, 'The connection is created.');
    await page.getByRole('heading', { name: `${connector} of Bluebird` }).waitFor();

    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await account.fill('bluebird-uk');
    if (!javaScriptEnabled) await press(page, 'Show what happens');
    await expectToSee(page, 'Saving has these effects:');
    await press(page, 'Save');
    await expectToSee(page, 'The settings are saved.');
    const id = /con_\w+/.exec(page.url())?.[0] ?? '';
    const { body } = await us().org.call('GET', `/connections/${id}`);
    expect(Object.values(body.paramsJson)).toContain('bluebird-uk');
  });
});

describe('the editor of specs', () => {
  it('marks the line of an issue while it is typed, and its link leads there', async () => {
    await using window = await us().openAt('/new-spec');
    const { page } = window;
    const text = page.getByLabel('YAML or JSON');
    const before = await text.inputValue();
    const line = before.split('\n').findIndex((one) => one.includes('table: contacts')) + 1;
    await text.fill(before.replace('table: contacts', 'tabel: contacts'));
    const mark = page.locator(`#line-${line}`);
    await mark.waitFor();
    await page.locator('.editor').evaluate((editor: { scrollTop: number }) => {
      editor.scrollTop = 0;
    });
    await page
      .getByRole('link', { name: `Line ${line}` })
      .first()
      .click();
    const caret = await text.evaluate((editor: { selectionStart: number }) => editor.selectionStart);
    expect((await text.inputValue()).slice(0, caret).split('\n')).toHaveLength(line);
    expect(await page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA');
    const [number, row] = [await mark.boundingBox(), await page.locator('.editor').boundingBox()];
    expect(number?.y).toBeGreaterThanOrEqual(row?.y ?? Number.NaN);
    expect(number?.y).toBeLessThan((row?.y ?? 0) + (row?.height ?? 0));
    await text.fill(before);
    await expectToSee(page, 'The spec is valid');
    expect(await page.locator('.gutter b').count()).toBe(0);
    expect(window.complaints).toEqual([]);
  });

  it('has the number of the last line beside it, also without the script', async () => {
    await using window = await us().open({ javaScriptEnabled: false });
    await us().goTo(window.page, '/new-spec');
    const text = window.page.getByLabel('YAML or JSON');
    const lines = `${'# a line\n'.repeat(60)}metadata: 1`;
    await text.fill(lines);
    await press(window.page, 'Check it');
    const mark = await window.page.locator('#line-61').boundingBox();
    const area = await text.boundingBox();
    const ends = [mark, area].map((box) => (box?.y ?? Number.NaN) + (box?.height ?? Number.NaN));
    expect(Math.abs((ends[0] ?? 0) - (ends[1] ?? 0))).toBeLessThan(5);
  });
});
