import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConsoleClient, openConsole } from '../support/console/console-client.ts';
import { fillRichOrg, type RichOrg } from '../support/console/rich-org.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';

const resources = new AsyncDisposableStack();
let api: TestApi;
let org: TestOrg;
let rich: RichOrg;
let us: ConsoleClient;

beforeAll(async () => {
  api = resources.use(await startApi());
  org = await api.newOrg();
  rich = await fillRichOrg(api, org);
  us = await openConsole(api, org.apiKey);
});
afterAll(() => resources.disposeAsync());

/** What is found, as group, label and address. */
async function found(q: string): Promise<readonly string[]> {
  const { text } = await us.get(`/console/find-results?q=${encodeURIComponent(q)}`);
  const groups: readonly { name: string; hits: readonly { label: string; href: string }[] }[] = JSON.parse(text);
  return groups.flatMap(({ name, hits }) => hits.map(({ label, href }) => `${name}: ${label} ${href}`));
}

describe('the search', () => {
  it.each([
    [
      'part of a name',
      'HARBOR log',
      (): string => `Connections: Harbor Logistics /console/connections/${rich.connectionId}`,
    ],
    ['the id of a customer', 'CUS_harbor-logistics', (): string => `/console/connections/${rich.connectionId}`],
    ['part of the key of a spec', 'helpd', (): string => 'Specs: helpdesk /console/specs/helpdesk'],
    ['part of a URL', '/legacy', (): string => `/console/endpoints/${rich.failingEndpointId}`],
    ['the description of an endpoint', 'old report', (): string => `/console/endpoints/${rich.failingEndpointId}`],
    ['the key of a record', ' c_81 ', (): string => `Records: c_81 /console/connections/${rich.connectionId}/record?`],
    ['the key of a quarantined record', 'c_7303', (): string => `/connections/${rich.partialConnectionId}/record?`],
  ])('finds by %s', async (_by, q, hit) => {
    const hits = await found(q);
    expect(hits).toHaveLength(1);
    expect(hits[0]).toContain(hit());
    const { text } = await us.get(`/console/find?q=${encodeURIComponent(q)}`);
    expect(text.replaceAll('&amp;', '&')).toContain(hit().split(' ').at(-1));
  });

  it('finds what has a page by its id', async () => {
    const { connectionId, runId, quarantineId, endpointId, deliveryId, hookId } = rich;
    for (const [folder, id] of Object.entries({
      connections: connectionId,
      runs: runId,
      quarantine: quarantineId,
      endpoints: endpointId,
      deliveries: deliveryId,
      hooks: hookId,
    })) {
      const [hit, ...others] = await found(id);
      expect(others).toEqual([]);
      expect(hit).toContain(`/console/${folder}/${id}`);
    }
  });

  it('finds nothing for nothing, and shows some of many', async () => {
    expect(await found('')).toEqual([]);
    expect(await found('nobody')).toEqual([]);
    expect((await us.get('/console/find?q=nobody')).text).toContain('Nothing is found for “nobody”.');
    const connections = (await found('e')).filter((hit) => hit.startsWith('Connections'));
    expect(connections).toHaveLength(8);
  });

  it('refuses what is too long', async () => {
    expect((await us.get(`/console/find?q=${'x'.repeat(501)}`)).status).toBe(400);
    expect((await us.get('/console/find?q=%00')).status).toBe(400);
  });

  it('finds no record of a deleted connection', async () => {
    const { body: connection } = await org.call('POST', '/connections', {
      body: {
        workspaceId: org.workspaceId,
        specKey: 'crm',
        specVersion: '1.0.0',
        displayName: 'Short-lived',
        params: { subdomain: 'short' },
        secrets: { token: 't' },
      },
    });
    const { db } = api.deps;
    await db
      .insertInto('lanes')
      .values({ orgId: org.orgId, connectionId: connection.id, resourceKey: 'contacts' })
      .execute();
    await sql`
      insert into record_state (lane_id, external_id, hash, status)
      select id, 'short-lived-record', '', 'delivered' from lanes where connection_id = ${connection.id}`.execute(db);
    expect(await found('short-lived-record')).toHaveLength(1);
    await org.call('DELETE', `/connections/${connection.id}`);
    expect(await found('short-lived-record')).toEqual([]);
    expect((await us.get(`/console/connections/${connection.id}/record?resource=contacts&key=1`)).status).toBe(404);
  });
});

describe('the page of a record', () => {
  const pageOf = (key: string, connectionId = rich.connectionId, resource = 'contacts') =>
    us.get(`/console/connections/${connectionId}/record?${new URLSearchParams({ resource, key }).toString()}`);

  /** Sets what is known of `c_81`. */
  const know = (change: ReturnType<typeof sql>) =>
    sql`update record_state set ${change} where external_id = 'c_81' and lane_id = (
      select id from lanes where connection_id = ${rich.connectionId} and resource_key = 'contacts')`.execute(
      api.deps.db,
    );

  it('says when a delivered record was read last, and by which run', async () => {
    const { text } = await pageOf('c_81');
    expect(text).toMatch(/badge good.*Delivered/);
    expect(text).toContain('its last version; it is skipped until its content changes');
    expect(text).toContain('<code>2026-03-01T08:30:00.000Z</code>');
    const newest = await api.deps.db
      .selectFrom('runs')
      .select('id')
      .where('connectionId', '=', rich.connectionId)
      .where('resourceKey', '=', 'contacts')
      .orderBy('seq', 'desc')
      .executeTakeFirstOrThrow();
    expect(text).toContain(`/console/runs/${newest.id}`);
  });

  it.each([
    ['missing', sql`missed = 2, missed_run = seen_run`, /Missing.*2 complete reads/s],
    [
      'to be deleted',
      sql`missed = null, flagged_run = seen_run`,
      /To be deleted.*until a run deletes it.*Read as deleted by/s,
    ],
    ['quarantined', sql`flagged_run = null, status = 'quarantined', undelivered = true`, /Quarantined.*nothing of it/s],
    ['deleted', sql`status = 'deleted', undelivered = null`, /badge idle.*Deleted/],
  ])('says that a record is %s', async (_state, change, words) => {
    await know(change);
    expect((await pageOf('c_81')).text).toMatch(words);
  });

  it('names partitions, and lists that name its deletion', async () => {
    const { db } = api.deps;
    const lane = sql`select id from lanes where connection_id = ${rich.connectionId} and resource_key = 'contacts'`;
    await sql`insert into record_partitions select id, 1, 'c_82', 'north' from (${lane}) lane`.execute(db);
    await sql`
      insert into listed_deletions (lane_id, listed_run, state, external_id, partition, deleted_at)
      select id, 1, 'done', 'c_82', '', '2026-02-03' from (${lane}) lane`.execute(db);
    const { text } = await pageOf('c_82');
    expect(text).toMatch(/north/);
    expect(text).toContain('done, or older than the record');
    expect(text).toContain('<code>2026-02-03</code>');
  });

  it('lists each time that it was in quarantine, and shows none of its data', async () => {
    const record = (await org.call('GET', `/quarantine/${rich.quarantineId}`)).body;
    const { connectionId, resourceKey, externalId } = record;
    const read = () => pageOf(externalId, connectionId, resourceKey);
    const { text: open } = await read();
    expect(open).toContain('It was never delivered.');
    expect(open).toContain(`/console/quarantine/${rich.quarantineId}`);
    expect(open).toContain('must be string');
    expect(open).not.toContain('person1@example.com');
    expect((await us.get(`/console/quarantine/${rich.quarantineId}`)).text.replaceAll('&amp;', '&')).toContain(
      `/console/connections/${connectionId}/record?resource=${resourceKey}&key=${externalId}`,
    );
    await us.post(`/console/quarantine/${rich.quarantineId}/requeue`);
    expect((await read()).text).toContain('Requeued');
    await api.deps.db.updateTable('quarantine').set({ requeuedAt: null }).where('id', '=', rich.quarantineId).execute();
    expect((await read()).text).toMatch(/badge good.*Resolved/);
  });

  it('says that nothing is known of a key', async () => {
    const { text, status } = await pageOf('never/read?&<b>');
    expect(status).toBe(200);
    expect(text).toContain('No row knows this record.');
    expect(text).toContain('never/read?&amp;&lt;b&gt;');
  });

  it('is a 404 of a resource that the connection does not have, and needs a key', async () => {
    expect((await pageOf('c_81', rich.connectionId, 'nothing')).status).toBe(404);
    expect((await us.get(`/console/connections/${rich.connectionId}/record?resource=contacts`)).status).toBe(400);
  });
});

describe('the pages of a connection', () => {
  it.each(['', '/runs', '/quarantine', '/hooks', '/settings'])('mark the tab in which one is: %j', async (end) => {
    const address = `/console/connections/${rich.connectionId}`;
    const { text } = await us.get(address + end);
    for (const tab of ['', '/runs', '/quarantine', '/hooks', '/settings']) {
      const isCurrent = new RegExp(`<a href="${address}${tab}" aria-current="page">`).test(text);
      expect([tab, isCurrent]).toEqual([tab, tab === end]);
    }
    expect(text.includes('data-refresh="5"')).toBe(!['/quarantine', '/settings'].includes(end));
  });

  it('give no id twice', async () => {
    const { text } = await us.get(`/console/connections/${rich.connectionId}`);
    const ids = [...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
    expect(ids.filter((id, place) => ids.indexOf(id) !== place)).toEqual([]);
  });

  it('show ids and values, and no secret', async () => {
    const { text } = await us.get(`/console/connections/${rich.connectionId}/settings`);
    for (const shown of [rich.connectionId, org.workspaceId, 'harbor-logistics', 'postgres', 'upsert']) {
      expect(text).toContain(shown);
    }
    expect(text).not.toContain('a-token-of-the-customer');
    expect(text).not.toContain('warehouse.example.com');
  });

  it('name the org and its workspaces in their frame', async () => {
    const { rows } = await sql<{ name: string }>`select name from orgs where id = ${org.orgId}`.execute(api.deps.db);
    const { text } = await us.get('/console/runs');
    expect(text).toContain(`<p class="whose"><span class="strong">${rows[0]?.name}</span>`);
    for (const kind of ['dev', 'staging', 'prod']) expect(text).toContain(`<span class="kind ${kind}">`);
    const refreshed = await us.get('/console/runs', { 'x-console-refresh': '1' });
    expect(refreshed.text).not.toContain('class="whose"');
  });

  it('say what needs attention, each once', async () => {
    const { text } = await us.get(`/console/connections/${rich.partialConnectionId}`);
    expect(text.match(/not delivered\./g)).toHaveLength(1);
    expect(text).toContain(`/console/connections/${rich.partialConnectionId}/quarantine?resource=`);
    expect((await us.get(`/console/connections/${rich.failingConnectionId}`)).text).toContain('auth_failed');
    expect((await us.get(`/console/connections/${rich.connectionId}`)).text).not.toContain('Needs attention');
  });
});
