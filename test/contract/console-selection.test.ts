import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { type ConsoleClient, openConsole } from '../support/console/console-client.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { holdRows } from '../support/service/sql-gate.ts';
import { createActiveConnection, createConnection, publishSpec } from '../support/upstream/api-fixtures.ts';

const resources = new AsyncDisposableStack();
let api: TestApi;
let org: TestOrg;
let us: ConsoleClient;

beforeAll(async () => {
  api = resources.use(await startApi());
  org = await api.newOrg();
  us = await openConsole(api, org.apiKey);
  await publishSpec(org);
});
afterAll(() => resources.disposeAsync());

const selected = '/console/connections/selected';
const statusOf = async (id: string): Promise<string> => (await org.call('GET', `/connections/${id}`)).body.status;

describe('selected rows of a list', () => {
  it('are all acted on, and the list says how many', async () => {
    const ids = [await createActiveConnection(org), await createActiveConnection(org)];
    const back = '/console/connections?status=active&notice=paused';
    const paused = await us.post(selected, { act: 'pause', 'ids[]': ids, back });
    expect(paused.status).toBe(303);
    const location = paused.headers.get('location') ?? '';
    expect(location).toBe('/console/connections?status=active&notice=paused-many&count=2');
    expect((await us.get(location)).text).toContain('2 connections are paused.');
    expect(await Promise.all(ids.map(statusOf))).toEqual(['paused', 'paused']);
    await us.post(selected, { act: 'activate', 'ids[]': ids });
    expect(await Promise.all(ids.map(statusOf))).toEqual(['active', 'active']);
    await us.post(selected, { act: 'sync', 'ids[]': ids });
    for (const id of ids) {
      const { body: runs } = await org.call('GET', `/runs?connectionId=${id}`);
      expect(runs).toMatchObject([{ resourceKey: 'items', trigger: 'manual', status: 'queued' }]);
    }
  });

  it('are acted on behind one that is refused, which is named with the reason', async () => {
    const [active, pending] = [await createActiveConnection(org), await createConnection(org)];
    const back = '/console/connections?text=acme';
    const { text, status } = await us.post(selected, { act: 'sync', 'ids[]': [pending, active], back });
    expect(status).toBe(200);
    expect(text).toContain('1 of 2 syncs worked');
    expect(text).toContain('Reloading this page does it again');
    expect(text).toContain(`<a href="/console/connections/${pending}">Acme of Example Ltd</a>`);
    expect(text).toContain('The connection is not active yet; activate it before a sync.');
    expect(text).toContain(`href="${back}"`);
    expect((await org.call('GET', `/runs?connectionId=${active}`)).body).toHaveLength(1);
    const both = await us.post(selected, { act: 'sync', 'ids[]': [pending, newId('con')] });
    expect(both.text).toContain('None worked');
    expect(both.text).toContain('Connection not found');
  });

  it('are synced resource by resource, and one that is refused ends nothing', async () => {
    const { db } = api.deps;
    const [first, second] = [await createActiveConnection(org), await createActiveConnection(org)];
    // An error that nobody has words for.
    await sql`
      create function refuse_sync() returns trigger language plpgsql as $$ begin raise 'planted'; end $$`.execute(db);
    await sql
      .raw(`create trigger refuse_sync before insert on runs for each row
      when (new.connection_id = '${first}') execute function refuse_sync()`)
      .execute(db);
    const { text, status } = await us.post(selected, { act: 'sync', 'ids[]': [first, second] });
    await sql`drop function refuse_sync cascade`.execute(db);
    expect(status).toBe(200);
    expect(text).toContain('1 of 2 syncs worked');
    expect(text).toMatch(/<\/a> · items/);
    expect(text).toContain('Unexpected error. Quote request id');
    expect(text).not.toContain('planted');
    expect(api.logLines.join('')).toContain('"code":"P0001"');
    expect((await org.call('GET', `/runs?connectionId=${second}`)).body).toHaveLength(1);
  });

  it('count as a request each', async () => {
    await using limited = await startApi({ requestsPerSecond: 2 });
    const busy = await limited.newOrg();
    const theirs = await openConsole(limited, busy.apiKey);
    const ids = Array.from({ length: 20 }, () => newId('con'));
    const { text } = await theirs.post(selected, { act: 'pause', 'ids[]': ids });
    expect(text).toContain('Connection not found');
    expect(text).toContain('Too many requests');
  });

  it('are left as they are from the revocation of the key on', async () => {
    const ids = [
      await createActiveConnection(org),
      await createActiveConnection(org),
      await createActiveConnection(org),
    ];
    const { body: key } = await org.call('POST', '/api-keys');
    const theirs = await openConsole(api, key.key);
    const locked = `select from connections where id = '${ids[0]}' for update`;
    await using held = await holdRows(api.databaseUrl, locked);
    const pausing = theirs.post(selected, { act: 'pause', 'ids[]': ids });
    await held.reached();
    expect((await org.call('DELETE', `/api-keys/${key.id}`)).status).toBe(200);
    await held.open();
    expect((await pausing).text).toContain('This API key was revoked');
    expect(await Promise.all(ids.map(statusOf))).toEqual(['paused', 'active', 'active']);
  });

  it('are runs that are canceled or run again', async () => {
    const connectionId = await createActiveConnection(org);
    const sync = async (): Promise<string> =>
      (await org.call('POST', `/connections/${connectionId}/sync`, { body: { resource: 'items' } })).body.id;
    const ids = [await sync(), await sync()];
    const canceled = await us.post('/console/runs/selected', { act: 'cancel', 'ids[]': ids, back: '/console/runs' });
    expect(canceled.headers.get('location')).toBe('/console/runs?notice=canceled-many&count=2');
    const again = await us.post('/console/runs/selected', { act: 'cancel', 'ids[]': ids });
    expect(again.text).toContain('The run has already ended as canceled.');
    await us.post('/console/runs/selected', { act: 'replay', 'ids[]': ids });
    expect((await org.call('GET', `/runs?connectionId=${connectionId}`)).body).toHaveLength(4);
  });

  it('are refused as by its own button if only one is selected', async () => {
    const id = await createConnection(org);
    expect((await us.post(selected, { act: 'sync', 'ids[]': [id] })).status).toBe(409);
    expect((await us.post(selected, { act: 'sync', 'ids[]': [newId('con')] })).status).toBe(404);
  });

  it.each([
    ['none', [], 'select at least one connection'],
    ['ids of something else', [newId('run')], 'expected an id such as con_'],
    ['more than a page has', Array.from({ length: 51 }, () => newId('con')), '50'],
  ] as const)('are refused: %s', async (_name, ids, words) => {
    const { text, status } = await us.post(selected, { act: 'pause', 'ids[]': [...ids] });
    expect(status).toBe(400);
    expect(text).toContain(words);
  });

  it('are refused for an act that the list does not have', async () => {
    const id = await createActiveConnection(org);
    for (const act of ['delete', 'constructor', '']) {
      expect((await us.post(selected, { act, 'ids[]': [id] })).status).toBe(400);
    }
    expect((await us.post(selected, { 'ids[]': [id] })).status).toBe(400);
    expect(await statusOf(id)).toBe('active');
  });

  it('are refused in a form of another session or site', async () => {
    const id = await createActiveConnection(org);
    const form = { act: 'pause', 'ids[]': [id] };
    expect((await us.post(selected, form, { formToken: 'x' })).status).toBe(401);
    expect((await us.post(selected, form, { origin: 'https://elsewhere.example' })).status).toBe(401);
    expect((await us.post(selected, form, { origin: null })).status).toBe(401);
    expect(await statusOf(id)).toBe('active');
  });

  it.each([
    'https://elsewhere.example/',
    '//elsewhere.example/console',
    '/\\elsewhere.example',
    '/api/v1/runs',
    'x',
    '',
  ])('lead back to the console alone: %j', async (back) => {
    const id = await createActiveConnection(org);
    const { headers } = await us.post(selected, { act: 'pause', 'ids[]': [id], back });
    expect(headers.get('location')).toBe('/console?notice=paused-many&count=1');
  });
});

it.each([
  ['paused-many', ''],
  ['paused-many&count=x', ''],
  ['paused-many&count=1e9', ''],
  ['paused-many&count=3', '3 connections are paused.'],
  ['paused&count=3', 'The connection is paused.'],
])('a notice in an address shows its own words alone: %s', async (query, words) => {
  const { text } = await us.get(`/console/runs?notice=${query}`);
  expect(/class="notice" role="status">([^<]*)/.exec(text)?.[1] ?? '').toBe(words);
});
