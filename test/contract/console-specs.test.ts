import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shippedCatalogue } from '../../src/catalogue/catalogue.ts';
import { type ConsoleClient, openConsole } from '../support/console/console-client.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { publishSpec, specDocument } from '../support/upstream/api-fixtures.ts';

const opened = new AsyncDisposableStack();
const connectors = await shippedCatalogue.list();
let api: TestApi;
let org: TestOrg;
let us: ConsoleClient;

beforeAll(async () => {
  api = opened.use(await startApi());
  org = await api.newOrg();
  us = await openConsole(api, org.apiKey);
});
afterAll(() => opened.disposeAsync());

const tilesOf = (text: string) =>
  [...text.matchAll(/<h2><a href="\/console\/catalogue\/([^"]+)"/g)].map(([, key]) => key);

describe('the catalogue', () => {
  it('shows every connector with what it reads, how it signs in and what it was verified against', async () => {
    const { text } = await us.get('/console/catalogue');
    expect(tilesOf(text)).toEqual(connectors.map(({ key }) => key));
    const gitea = text.slice(text.indexOf('/catalogue/gitea'), text.indexOf('/catalogue/github'));
    for (const words of ['Repositories, issues', 'pull-requests', 'API key', 'Real server'])
      expect(gitea).toContain(words);
    expect(gitea).toMatch(/\d{4}-\d\d-\d\d/);
  });

  it.each([
    ['text=hubspot', ['hubspot']],
    ['text=BASE', ['airtable', 'pocketbase']],
    ['text=pull-requests', ['gitea', 'github']],
    ['tag=payments', ['square', 'stripe']],
    ['tag=payments&text=stripe', ['stripe']],
    ['text=nothing-like-that', []],
  ])('is filtered by name, resource and group: %s', async (query, keys) => {
    const { text } = await us.get(`/console/catalogue?${query}`);
    expect(tilesOf(text)).toEqual(expect.arrayContaining(keys));
    expect(tilesOf(text).length).toBeLessThan(8);
    if (keys.length === 0) expect(text).toContain('No connector passes this filter.');
  });

  it('has a page for each connector, and for no other', async () => {
    for (const { key, name, resources, verifiedAgainst } of connectors) {
      const { text, status } = await us.get(`/console/catalogue/${key}`);
      expect([key, status]).toEqual([key, 200]);
      expect(text).toContain(`<h1>${name}</h1>`);
      for (const resource of resources) expect(text).toContain(`>${resource}</code>`);
      expect(text.replaceAll('&#39;', "'")).toContain(verifiedAgainst.statement);
    }
    expect((await us.get('/console/catalogue/no-such-connector')).status).toBe(404);
  });

  it.each([
    ['kinto', 'webhook'],
    ['gitea', 'sqlserver'],
    ['pocketbase', 'postgres'],
  ])('makes a draft of %s that can be published, with the destination that was chosen: %s', async (key, kind) => {
    const used = await us.post(`/console/catalogue/${key}`, { destination: kind });
    expect(used.headers.get('location')).toBe(`/console/specs/${key}/1.0.0?notice=draft-from-catalogue`);
    const { body } = await org.call('GET', `/specs/${key}/versions/1.0.0`);
    expect(body).toMatchObject({ status: 'draft', specJson: { destination: { kind } } });
    const published = await us.post(`/console/specs/${key}/1.0.0/publish`);
    expect(published.headers.get('location')).toBe(`/console/specs/${key}/1.0.0?notice=published`);
    expect((await us.get(`/console/specs/${key}/1.0.0`)).text).toContain(
      `href="/console/new-connection?spec=${key}&amp;version=1.0.0"`,
    );
    expect((await us.get('/console/catalogue')).text).toContain('In your specs');
    const again = await us.post(`/console/catalogue/${key}`, { destination: 'postgres' });
    expect(again.headers.get('location')).toBe(`/console/specs/${key}/1.0.0`);
  });
});

describe('the next version of a spec', () => {
  it('begins with the text of a version, and has the number after the highest', async () => {
    await publishSpec(org, { key: 'acme', version: '1.9.0' });
    await publishSpec(org, { key: 'acme', version: '1.10.0' });
    const page = await us.get('/console/specs/acme');
    expect(page.text).toContain('href="/console/new-spec?from=acme&amp;version=1.10.0"');
    const { text } = await us.get('/console/new-spec?from=acme&version=1.9.0');
    expect(text).toMatch(/<textarea[^>]*>metadata:\n {2}key: acme\n {2}name: Acme\n {2}version: 1.11.0\n/);
  });
});

describe('the editor of specs', () => {
  const check = (document: string) => us.post('/console/check-spec', { document });

  it('shows each issue at its line', async () => {
    const document = JSON.stringify(specDocument(), null, 2).replace('"kind": "none"', '"kind": "nothing"');
    const line = document.split('\n').findIndex((one) => one.includes('nothing')) + 1;
    const { text } = await check(document);
    expect(text).toContain(`<b id="line-${line}">${line}</b>`);
    expect(text).toContain(`<a href="#line-${line}">Line ${line}</a> <code>auth.kind</code>`);
    expect(text).toMatch(
      new RegExp(`<div class="marked"><span>${line}</span><code> *&quot;kind&quot;: &quot;nothing&quot;</code>`),
    );
    expect(text.match(/<b id="line-/g)).toHaveLength(1);
  });

  it('shows where a text is no YAML', async () => {
    const { text } = await check('metadata:\n  key: "acme\n');
    expect(text).toMatch(/<b id="line-\d">/);
    expect(text).toContain('The body is not YAML');
  });

  it('numbers the lines of a text, and no line is marked in a valid one', async () => {
    const { text } = await us.get('/console/new-spec');
    expect(text).toContain('aria-hidden="true">1\n2\n3\n');
    expect((await check(JSON.stringify(specDocument()))).text).not.toContain('<b id="line-');
  });
});
