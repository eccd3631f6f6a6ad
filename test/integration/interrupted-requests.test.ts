import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../src/api/routes/index.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { connectionBody, fillOrg, type Inventory, specDocument } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
let made: Inventory;

beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  made = await fillOrg(api, org);
  await sql`
    create function lose_response() returns trigger language plpgsql as $$
      begin raise exception 'the process ends here'; end $$`.execute(api.deps.db);
});
afterAll(() => api[Symbol.asyncDispose]());

/** Does the work with every response lost: as when the process ends before it has stored one. */
async function withoutResponses<Result>(work: () => Promise<Result>): Promise<Result> {
  const { db } = api.deps;
  await sql`
    create trigger lose_response before update of status on idempotency_keys
      for each row when (new.status is not null) execute function lose_response()`.execute(db);
  try {
    return await work();
  } finally {
    await sql`drop trigger lose_response on idempotency_keys`.execute(db);
    await sql`update idempotency_keys set locked_until = now() - interval '1 second'`.execute(db);
  }
}

/** How many there are of what the routes make; a rotation is seen in its endpoint or hook. */
async function everything(): Promise<unknown> {
  const { rows } = await sql`
    select
      (select count(*) from api_keys) as keys, (select count(*) from connections) as connections,
      (select count(*) from connect_sessions) as sessions, (select count(*) from runs) as runs, (select count(*) from schedules) as schedules,
      (select count(*) from spec_versions) as versions, (select count(*) from workspaces) as workspaces,
      (select count(*) from webhook_endpoints) as endpoints, (select count(*) from oauth_apps) as apps, (select count(*) from webhook_deliveries) as deliveries,
      (select count(*) from webhook_recoveries) as recoveries, (select count(*) from webhook_endpoint_secrets) as secrets,
      (select array_agg(token_hash order by id) from hooks) as hooks`.execute(api.deps.db);
  return rows[0];
}

/** Of each route that takes an `Idempotency-Key`: its parameter and a body. */
const requests: Readonly<Record<string, (of: Inventory) => { readonly id?: string; readonly body?: unknown }>> = {
  '/api-keys': () => ({}),
  '/workspaces': () => ({ body: { name: 'Another', kind: 'dev' } }),
  '/specs': () => ({ body: specDocument({ key: 'other' }) }),
  '/connections': () => ({ body: connectionBody(org) }),
  '/connections/:id/sync': (of) => ({ id: of.activeConnectionId, body: { resource: 'items' } }),
  '/connections/:id/backfill': (of) => ({ id: of.activeConnectionId, body: { resource: 'items' } }),
  '/connections/:id/schedules': (of) => ({
    id: of.activeConnectionId,
    body: { resourceKey: 'items', cron: '0 4 * * *' },
  }),
  '/connections/:id/hooks': (of) => ({
    id: of.activeConnectionId,
    body: { resourceKeys: ['items'], verification: { kind: 'github' } },
  }),
  '/hooks/:id/rotate': (of) => ({ id: of.hookId, body: { replace: ['url'] } }),
  '/runs/:id/replay': (of) => ({ id: of.runId }),
  '/oauth-apps': () => ({ body: { key: 'another', clientId: 'client', clientSecret: 'secret' } }),
  '/webhook-endpoints': () => ({ body: { url: 'https://93.184.215.14/' } }),
  '/webhook-endpoints/:id/rotate-secret': (of) => ({ id: of.endpointId, body: {} }),
  '/webhook-endpoints/:id/test': (of) => ({ id: of.endpointId }),
  '/webhook-endpoints/:id/recover': (of) => ({
    id: of.endpointId,
    body: { since: new Date(Date.now() - 1000).toISOString(), include: ['failed'] },
  }),
  '/connect-sessions': () => ({ body: { workspaceId: org.workspaceId, specKey: 'acme' } }),
  '/webhook-deliveries/:id/redeliver': (of) => ({ id: of.deliveryId, body: {} }),
};

const keyed = routes.filter(({ repeated }) => repeated);

describe('a request whose process ends before its response is stored', () => {
  it.each(keyed.map(({ path, repeated, status }) => ({ path, repeated, status })))(
    'has changed nothing, and is done once when its Idempotency-Key is sent again: $path',
    async ({ path, repeated, status }) => {
      const { id, body } = requests[path]?.(made) ?? {};
      const send = () =>
        org.call('POST', path.replace(':id', id ?? ''), { body, headers: { 'idempotency-key': 'interrupted' } });
      const before = await everything();

      expect((await withoutResponses(send)).status).toBe(500);
      expect(await everything()).toEqual(before);

      const again = await send();
      expect(again.status).toBe(status);
      const after = await everything();
      expect(after).not.toEqual(before);
      const third = await send();
      if (repeated === 'same_response') expect(third).toMatchObject({ status, body: again.body });
      else expect(third.status).toBe(409);
      expect(await everything()).toEqual(after);
    },
  );
});
