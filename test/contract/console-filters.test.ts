import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findConnectionsPage } from '../../db/queries/connections/connections.ts';
import { countConnectionHealth } from '../../db/queries/connections/health.ts';
import { orgScope } from '../../db/scope.ts';
import { Health } from '../../src/core/resources/freshness.ts';
import { healthOf, worst } from '../../src/core/schedule/freshness.ts';
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

const healths = Health.pipe[0].options;
const unescaped = (text: string) => text.replaceAll('&amp;', '&');
const rowsOf = (text: string) => text.split('<tr role="row"><td').length - 1;

/** The links of a page to an address of the console. */
async function linksFrom(path: string, pattern: RegExp): Promise<readonly string[]> {
  const { text } = await us.get(path);
  return [...text.matchAll(pattern)].map(([, href = '']) => unescaped(href));
}

describe('a tile of the overview', () => {
  it.each(healths)('leads to as many connections as it counts: %s', async (health) => {
    const { text } = await us.get('/console');
    const href = `/console/connections?health=${health}`;
    const [, tile = ''] = text.split(`href="${href}"><span class="amount">`);
    const amount = Number.parseInt(tile, 10);
    const list = await us.get(href);
    expect(list.status).toBe(200);
    expect(rowsOf(list.text)).toBe(amount);
    expect(list.text).toContain(`<option value="${health}" selected>`);
  });
});

describe('the list of connections by health', () => {
  it('has each of them on one page, however short the pages are', async () => {
    const { db } = api.deps;
    const scope = orgScope(org.orgId);
    const groups = await countConnectionHealth(db, scope, 100);
    expect(new Set(groups.map(({ facts }) => worst(facts.map(healthOf)))).size).toBeGreaterThan(3);
    for (const health of healths) {
      const expected = groups.flatMap(({ facts, sample }) => (worst(facts.map(healthOf)) === health ? sample : []));
      const listed: string[] = [];
      for (let before: string | null = null; ; ) {
        const page = await findConnectionsPage(db, scope, { health }, { before, limit: 2 });
        listed.push(...page.rows.map(({ id }) => id));
        before = page.next;
        if (before === null) break;
      }
      expect(listed).toEqual([...expected].toSorted().toReversed());
    }
  });

  it('has paused ones only where the status asks for them', async () => {
    const { text } = await us.get('/console/connections?health=healthy&status=paused');
    expect(text).toContain('Tallow Street Books');
    expect((await us.get('/console/connections?health=healthy')).text).not.toContain('Tallow Street Books');
  });

  it('is refused for a health that does not exist', async () => {
    expect((await us.get('/console/connections?health=fine')).status).toBe(400);
  });
});

it('the list of connections by spec has those of any version', async () => {
  const { text } = await us.get('/console/connections?spec=crm');
  for (const version of ['crm 1.0.0', 'crm 1.1.0']) expect(text).toContain(version);
  expect(text).not.toContain('billing 1.0.0');
  expect((await us.get('/console/connections?spec=nobodys')).text).toContain('No connection passes this filter.');
});

describe('a bar of the overview', () => {
  it('leads to the runs of its hour', async () => {
    const links = await linksFrom('/console', /<a href="([^"]+)" aria-label="Runs from/g);
    expect(links.length).toBeGreaterThan(20);
    const [first = ''] = links;
    const query = new URL(first, 'http://console').searchParams;
    const [from, to] = ['from', 'to'].map((name) => `${query.get(name)}:00.000Z`);
    const { text } = await us.get(first);
    const { count } = await api.deps.db
      .selectFrom('runs')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('orgId', '=', org.orgId)
      .where('createdAt', '>=', from ?? '')
      .where('createdAt', '<', to ?? '')
      .executeTakeFirstOrThrow();
    expect(count).toBeGreaterThan(0);
    expect(rowsOf(text)).toBe(count);
    expect(text).toContain(`name="from" type="datetime-local" value="${query.get('from')}"`);
  });
});

describe('the list of runs', () => {
  it('is filtered by the code of the error', async () => {
    const { text } = await us.get('/console/runs?errorCode=auth_failed');
    expect(text).toContain(rich.failedRunId);
    expect(text).not.toContain(rich.runId);
    expect((await us.get('/console/runs?errorCode=x&to=0001-01-03T00:00')).status).toBe(200);
    const { text: nothing } = await us.get('/console/runs?errorCode=nothing');
    expect(nothing).toContain('No run passes this filter.');
    // It begins a week ago, and says so in its field.
    expect(nothing).toMatch(/name="from"[^>]*value="20\d\d-/);
  });

  it.each(['status=canceled', 'trigger=backfill'])('begins a week ago where it is filtered by %s', async (filter) => {
    for (const path of ['/console/runs', `/console/connections/${rich.connectionId}/runs`]) {
      expect((await us.get(`${path}?${filter}`)).text).toMatch(/name="from"[^>]*value="20\d\d-/);
    }
    const { text } = await us.get(`/console/runs?${filter}&id=${rich.failedRunId}`);
    expect(text).toMatch(/name="from"[^>]*value=""/);
  });

  it('is filtered by connection, resource and id', async () => {
    const { connectionId } = rich;
    const { text: ofConnection } = await us.get(`/console/connections/${connectionId}/runs?resource=deals`);
    expect(rowsOf(ofConnection)).toBe(8);
    expect(ofConnection).toContain('<option value="deals" selected>');
    expect((await us.get(`/console/runs?connectionId=${connectionId}&resource=deals`)).text).toContain(
      'Runs of Harbor',
    );
    // Without a connection it begins a week ago, and says so in its field.
    const { text: ofAll } = await us.get('/console/runs?resource=deals');
    expect(rowsOf(ofAll)).toBeGreaterThan(8);
    expect(ofAll).toMatch(/name="from"[^>]*value="20\d\d-/);
    const { text: one } = await us.get(`/console/runs?id=${rich.failedRunId}`);
    expect(rowsOf(one)).toBe(1);
    expect(one).toContain(rich.failedRunId);
  });

  it.each(['2026-02-31T00:00', 'yesterday', '2026-01-01', '99999-01-01T00:00'])(
    'refuses what is no time: %s',
    async (from) => {
      expect((await us.get(`/console/runs?from=${from}`)).status).toBe(400);
    },
  );

  it('takes an empty form, and a time with its zone', async () => {
    expect((await us.get('/console/runs?from=&to=&errorCode=&status=')).status).toBe(200);
    expect((await us.get('/console/runs?from=2026-01-01T00:00:00Z')).text).toContain('value="2026-01-01T00:00"');
  });
});

describe('the list of deliveries', () => {
  it.each(['delivered', 'failed', 'open', 'unknown'] as const)('has those of a result only: %s', async (outcome) => {
    const { text } = await us.get(`/console/deliveries?outcome=${outcome}`);
    const rows = await api.deps.db
      .selectFrom('webhookDeliveries')
      .select(['id', 'state', 'delivered'])
      .where('orgId', '=', org.orgId)
      .execute();
    const isOf = {
      delivered: (row: (typeof rows)[number]) => row.delivered,
      failed: (row: (typeof rows)[number]) => row.state === 'done' && !row.delivered,
      open: (row: (typeof rows)[number]) => row.state === 'queued' || row.state === 'sending',
      unknown: (row: (typeof rows)[number]) => row.state === 'unknown',
    }[outcome];
    for (const row of rows) expect([row.id, text.includes(row.id)]).toEqual([row.id, isOf(row)]);
    expect(text).toMatch(/name="from"[^>]*value="20\d\d-/);
  });

  it('is filtered by event, endpoint and time', async () => {
    const { text } = await us.get(`/console/deliveries?eventType=run.failed&endpointId=${rich.failingEndpointId}`);
    expect(text).toContain(`<option value="${rich.failingEndpointId}" selected>`);
    expect(text).not.toContain('<code>run.succeeded</code>');
    expect((await us.get('/console/deliveries?to=2020-01-01T00:00')).text).toContain('No attempt passes this filter.');
    expect((await us.get('/console/deliveries?eventType=run.nothing')).status).toBe(400);
    expect((await us.get('/console/deliveries?outcome=well')).status).toBe(400);
  });
});

describe('the quarantine', () => {
  it('of a run is where its count leads, and has no others', async () => {
    const { id, connectionId } = await api.deps.db
      .selectFrom('quarantine')
      .innerJoin('runs', 'runs.id', 'quarantine.runId')
      .select(['runs.id', 'runs.connectionId'])
      .where('quarantine.id', '=', rich.quarantineId)
      .executeTakeFirstOrThrow();
    const href = `/console/quarantine?runId=${id}`;
    expect((await us.get(`/console/runs/${id}`)).text).toContain(`<a class="amount" href="${href}"`);
    const [ofRun, ofOther] = await Promise.all([us.get(href), us.get(`/console/quarantine?runId=${rich.runId}`)]);
    expect(ofRun.text).toContain(rich.quarantineId);
    expect(ofRun.text).not.toContain('Requeue all');
    expect(ofOther.text).toContain('No record is quarantined here.');
    const ofConnection = await us.get(`/console/connections/${connectionId}/quarantine?runId=${id}`);
    expect(ofConnection.text).toContain(rich.quarantineId);
    const form = { act: 'requeue', 'ids[]': [rich.quarantineId], back: href };
    const location = (await us.post('/console/quarantine/requeue', form)).headers.get('location');
    expect(location).toBe(`${href}&notice=requeued-many&count=1`);
    const again = (await us.post('/console/quarantine/requeue', form)).headers.get('location');
    expect(again).toBe(`${href}&notice=requeued-many&count=0`);
  });

  it('groups records by reason, each with an example whose field is marked', async () => {
    const address = `/console/quarantine?connectionId=${rich.partialConnectionId}`;
    const { text } = await us.get(address);
    expect(text).toContain('email: <mark>&quot;not an address&quot;</mark>');
    const links = await linksFrom(address, /<a href="([^"]+path=[^"]+)">\d+<\/a>/g);
    expect(links.length).toBe(3);
    for (const link of links) {
      const [, amount] = new RegExp(`>(\\d+)</a>`).exec(text.split(link.replaceAll('&', '&amp;'))[1] ?? '') ?? [];
      const group = await us.get(link);
      expect(rowsOf(group.text)).toBe(Number(amount));
      expect(group.text).not.toContain('<caption class="unseen">Reasons');
    }
    expect((await us.get(`/console/quarantine/${rich.quarantineId}`)).text).toContain('<mark>');
  });
});

it('a run without records shows no pictures of them', async () => {
  const { text: full } = await us.get(`/console/runs/${rich.runId}`);
  expect(full).toContain('Recorded over time');
  await api.deps.db
    .updateTable('runs')
    .set({ recordsIn: 0, recordsOut: 0, skipped: 0, quarantined: 0 })
    .where('id', '=', rich.runId)
    .execute();
  const { text } = await us.get(`/console/runs/${rich.runId}`);
  expect(text).toContain('The run read no record.');
  expect(text).not.toMatch(/Recorded over time|Delivered/);
});
