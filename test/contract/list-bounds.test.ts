/** No list is in memory as a whole: every statement of a request returns a bounded number of rows. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../db/client.ts';
import { logHookRequest } from '../../db/queries/hooks/hook-requests.ts';
import { insertCalls } from '../../db/queries/runs/calls.ts';
import { orgScope } from '../../db/scope.ts';
import { createApp } from '../../src/api/app.ts';
import { routes } from '../../src/api/routes/index.ts';
import { serveConsole } from '../../src/console/console.ts';
import { consoleRoutes } from '../../src/console/pages/index.ts';
import { type ConsoleClient, openConsole } from '../support/console/console-client.ts';
import { copyRows } from '../support/plans/copied-rows.ts';
import { openRecording, type RecordedPlan } from '../support/plans/plan-recorder.ts';
import { caseFigure } from '../support/security/figure.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { newCall } from '../support/service/calls.ts';
import { fillOrg, type Inventory } from '../support/upstream/api-fixtures.ts';
import { happen } from '../support/webhooks/webhook-rows.ts';

/** Copies of each row of the org: more than a list reads at once. */
const copies = 1500;
/** Rows that a statement returns at most: a batch of a list that is streamed. */
const batchRows = 1000;
/** Characters of a page of the console. */
const pageCharsMax = 300_000;

/** Tables with rows of orgs of which no list is made, or few for each of its rows. */
const unlisted: Readonly<Record<string, string>> = {
  buckets: 'found by their keys',
  hook_triggers: 'a request to a hook has one for each resource, 50 at most',
  idempotency_keys: 'found by their keys',
  lookup_cache: 'found by its keys',
  oauth_states: 'found by their keys',
  outboxes: 'one for each lane',
  outbox_parts: 'read by runs, in slices',
  pending_grants: 'found by their keys',
  run_dimensions: 'read by runs, in slices',
  tokens: 'one for each connection',
  written_columns: 'one for each lane',
};

const opened = new AsyncDisposableStack();
let api: TestApi;
let org: TestOrg;
let things: Inventory;
let recording: ReturnType<typeof openRecording>;
let app: TestApi['app'];
let console: ConsoleClient;
let empty: readonly string[];

beforeAll(async () => {
  api = opened.use(await startApi());
  org = await api.newOrg();
  things = await fillOrg(api, org);
  const { db } = api.deps;
  await fillLogs(db);
  empty = await copyRows(db, org.orgId, copies);
  // A spec without a version is in no list.
  await sql`
    insert into spec_versions (id, org_id, spec_id, version, spec_json, status, checksum)
    select 'specver_' || specs.id, org_id, specs.id, '1.0.0', '{}', 'draft', ''
    from specs where org_id = ${org.orgId} and not exists (select from spec_versions where spec_id = specs.id)`.execute(
    db,
  );
  recording = openRecording(api.databaseUrl);
  opened.defer(() => recording.db.destroy());
  app = createApp({ ...api.deps, db: recording.db }, serveConsole);
  console = await openConsole({ app }, org.apiKey);
});
afterAll(() => opened.disposeAsync());

/** One of each row that only runs and requests from elsewhere make. */
async function fillLogs(db: Db): Promise<void> {
  const { orgId } = org;
  const { activeConnectionId: connectionId, hookId, runId } = things;
  const scope = orgScope(orgId);
  await insertCalls(db, scope, [newCall({ runId, sequence: 1 })]);
  await logHookRequest(db, scope, { id: hookId, connectionId }, { status: 'rejected', reason: 'the id is missing' });
  await happen(api, org);
  const lane = await db.selectFrom('lanes').select('id').where('orgId', '=', orgId).executeTakeFirstOrThrow();
  await db.insertInto('partitions').values({ orgId, laneId: lane.id, watermark: '7' }).execute();
  const page = { recordsIn: 1, recordsOut: 1, skipped: 0, quarantined: 0, pageNo: 1, batchNo: 1, requestKey: 'k' };
  await db
    .insertInto('runPages')
    .values({ ...page, orgId, runId })
    .execute();
}

/** Ids for addresses, by their folder. */
const idOf: Readonly<Record<string, (of: Inventory) => string>> = {
  connections: ({ activeConnectionId }) => activeConnectionId,
  runs: ({ runId }) => runId,
  quarantine: ({ quarantineId }) => quarantineId,
  hooks: ({ hookId }) => hookId,
  endpoints: ({ endpointId }) => endpointId,
  'oauth-apps': ({ oauthAppId }) => oauthAppId,
  'webhook-endpoints': ({ endpointId }) => endpointId,
  deliveries: ({ deliveryId }) => deliveryId,
  'webhook-deliveries': ({ deliveryId }) => deliveryId,
  recoveries: ({ recoveryId }) => recoveryId,
  'connect-sessions': ({ sessionId }) => sessionId,
  'webhook-recoveries': ({ recoveryId }) => recoveryId,
};
/** Queries that addresses need. */
const queries: Readonly<Record<string, (of: Inventory) => string>> = {
  '/quarantine': ({ activeConnectionId }) => `?connectionId=${activeConnectionId}`,
  '/connections/:id/record': () => '?resource=items&key=r1',
  '/specs/:key/compare': ({ publishedVersion, draftVersion }) => `?from=${publishedVersion}&to=${draftVersion}`,
};

function addressOf(path: string): string {
  const [, folder = ''] = path.split('/');
  const id = folder === 'catalogue' ? 'github' : (idOf[folder]?.(things) ?? things.specKey);
  const filled = path.replace(':version', things.publishedVersion).replace(/:\w+/, id);
  return filled + (queries[path]?.(things) ?? '');
}

/** Fails unless the statements that a request executes return few rows each. */
async function expectBounded(request: () => Promise<unknown>): Promise<void> {
  const from = recording.plans.length;
  await request();
  const plans = recording.plans.slice(from);
  expect(plans).not.toEqual([]);
  const whole = plans.filter(({ returned }) => returned > batchRows);
  caseFigure('wholeLists', whole.length > 0);
  expect(whole.map(wordsOf)).toEqual([]);
}

const wordsOf = ({ query, returned, text }: RecordedPlan) => `${query}: ${returned} rows: ${text.slice(0, 300)}`;

/** They lead elsewhere, or need another credential. */
const others = ['/oauth/:connectionId/authorize'];
const reads = routes.filter(
  ({ method, auth, path }) => method === 'get' && auth === 'api_key' && !others.includes(path),
);
const lists = reads.filter(({ response }) => response.type === 'array');
const pages = consoleRoutes.filter(({ method }) => method === 'get');

describe(`of an org with ${copies} rows of each kind, no more than ${batchRows} are in memory at once:`, () => {
  it('they are there, in every table with rows of orgs', () => {
    expect(empty.filter((table) => unlisted[table] === undefined)).toEqual([]);
  });

  it.each(reads.map(({ path }) => path))('GET %s', async (path) => {
    await expectBounded(async () => {
      const response = await app.request(`/api/v1${addressOf(path)}`, {
        headers: { authorization: `Bearer ${org.apiKey}` },
      });
      const text = await response.text();
      expect(response.status, text.slice(0, 300)).toBe(200);
      if (lists.some((list) => list.path === path))
        expect(response.headers.get('x-total-count')).toBe(String(JSON.parse(text).length));
    });
  });

  it.each(lists.map(({ path }) => path))(
    'HEAD %s has the headers of GET, and takes no place of a long list',
    async (path) => {
      const ask = async (method: string) =>
        app.request(`/api/v1${addressOf(path)}`, { method, headers: { authorization: `Bearer ${org.apiKey}` } });
      const heads = await Promise.all(Array.from({ length: 10 }, () => ask('HEAD')));
      const got = await ask('GET');
      const text = await got.text();
      expect(got.status, text.slice(0, 300)).toBe(200);
      for (const head of heads) {
        expect([head.status, await head.text()]).toEqual([200, '']);
        for (const name of ['content-type', 'x-total-count'])
          expect(head.headers.get(name)).toBe(got.headers.get(name));
      }
    },
  );

  it.each(pages.map(({ path }) => path))('the page /console%s', async (path) => {
    await expectBounded(async () => {
      const { status, text } = await console.get(`/console${addressOf(path)}`);
      expect(status, text.slice(0, 300)).toBe(200);
      expect(text.length).toBeLessThan(pageCharsMax);
    });
  });
});
