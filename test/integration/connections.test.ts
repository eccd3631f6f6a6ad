import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertConnection } from '../../db/queries/connections/connections.ts';
import { findSecret } from '../../db/queries/connections/secrets.ts';
import { orgScope } from '../../db/scope.ts';
import { newId } from '../../src/core/ids.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import {
  connectionBody,
  createActiveConnection,
  createConnection,
  publishSpec,
  requestRuns,
  specDocument,
} from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  await publishSpec(org);
});
afterAll(() => api[Symbol.asyncDispose]());

const create = (changes: object = {}) =>
  org.call('POST', '/connections', { body: { ...connectionBody(org), ...changes } });

describe('POST /connections', () => {
  it('creates a pending connection pinned to the version', async () => {
    const { status, body } = await create({ params: { subdomain: 'acme' }, externalCustomerId: 'customer-42' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      orgId: org.orgId,
      workspaceId: org.workspaceId,
      pinnedSpecVersion: '1.0.0',
      displayName: 'Acme of Example Ltd',
      externalCustomerId: 'customer-42',
      status: 'pending',
      paramsJson: { subdomain: 'acme', startDate: '2020-01-01' },
      specOverridesJson: null,
    });
    expect((await org.call('GET', `/connections/${body.id}`)).body).toEqual(body);
  });

  it('stores secrets only sealed, and never returns them', async () => {
    const { body } = await create({ secrets: { apiKey: 'hunter2-hunter2' } });
    expect(JSON.stringify(body)).not.toContain('hunter2');
    const kind = 'params-secret';
    const sealed = await findSecret(api.deps.db, orgScope(org.orgId), { connectionId: body.id, kind });
    const opened = sealed && api.deps.secretBox.open(sealed, { orgId: org.orgId, ownerId: body.id, kind });
    expect(opened).toBe('{"apiKey":"hunter2-hunter2"}');
    const { rows } = await sql<{ dump: string }>`
      select (select string_agg(c::text, '') from connections c) || (select string_agg(s::text, '') from connection_secrets s)
        as dump`.execute(api.deps.db);
    expect(rows[0]?.dump).not.toContain('hunter2');
    expect(rows[0]?.dump).not.toContain(Buffer.from('hunter2').toString('hex'));
    expect(api.logLines.join('')).not.toContain('hunter2');
  });

  it.each<[string, object, string]>([
    ['an unknown param', { params: { nope: 1 } }, 'params.nope'],
    ['a param of the wrong form', { params: { subdomain: 'evil.example/' } }, 'params.subdomain'],
    ['a secret among the params', { params: { apiKey: 'x' } }, 'params.apiKey'],
    ['a secret of the wrong type', { secrets: { apiKey: 1 } }, 'secrets.apiKey'],
  ])('responds with 400 and the place for %s, and keeps nothing', async (_what, changes, path) => {
    const before = (await org.call('GET', '/connections')).headers.get('x-total-count');
    const { status, body } = await create(changes);
    expect({ status, code: body.error.code }).toEqual({ status: 400, code: 'validation' });
    expect(body.error.issues.map((issue: { path: string }) => issue.path)).toContain(path);
    expect((await org.call('GET', '/connections')).headers.get('x-total-count')).toBe(before);
  });

  it('responds with 404 for an unknown spec, version or workspace', async () => {
    for (const changes of [{ specKey: 'nope' }, { specVersion: '9.9.9' }, { workspaceId: newId('ws') }]) {
      expect(await create(changes)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    }
  });

  it.each([{ params: [] }, { secrets: [] }, { displayName: ' \t' }])('refuses %j', async (changes) => {
    const { status, body } = await create(changes);
    expect({ status, path: body.error.issues[0].path }).toEqual({ status: 400, path: Object.keys(changes)[0] });
  });

  it('responds with 409 and advice for a version that is still a draft', async () => {
    await org.call('POST', '/specs', { body: specDocument({ version: '3.0.0' }) });
    expect(await create({ specVersion: '3.0.0' })).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict', message: 'Version 3.0.0 is a draft: publish it first.' } },
    });
  });

  it('names every faulty field of the body, without its value', async () => {
    const { body } = await create({ displayName: 7, workspaceId: 'secret-value', params: null });
    expect(body.error.issues.map(({ path }: { path: string }) => path)).toEqual([
      'workspaceId',
      'displayName',
      'params',
    ]);
    expect(JSON.stringify(body)).not.toContain('secret-value');
  });
});

describe('GET /connections', () => {
  it('gives all of them newest first, streamed beyond a thousand', async () => {
    const many = await api.newOrg();
    await publishSpec(many);
    const first = await createConnection(many);
    const { body: model } = await many.call('GET', `/connections/${first}`);
    const scope = orgScope(many.orgId);
    const { workspaceId, specId, pinnedSpecVersion, displayName } = model;
    await api.deps.db.transaction().execute(async (tx) => {
      for (let index = 0; index < 2100; index += 1) {
        const names = { displayName, externalCustomerId: null, errorAfterMinutes: 0 };
        await insertConnection(tx, scope, {
          id: newId('con'),
          workspaceId,
          specId,
          pinnedSpecVersion,
          ...names,
          params: {},
          oauthApps: [],
        });
      }
    });
    const { body, headers } = await many.call('GET', '/connections');
    const ids = body.map(({ id }: { id: string }) => id);
    expect(headers.get('x-total-count')).toBe('2101');
    expect(new Set(ids).size).toBe(2101);
    expect(ids).toEqual(ids.toSorted().toReversed());
    expect(ids.at(-1)).toBe(first);
  });
});

describe('GET /connections/:id', () => {
  it('gives each of many who ask at once its own, and nobody what is of another org', async () => {
    const other = await api.newOrg();
    await publishSpec(other);
    const ids = await Promise.all([org, org, org, other, other].map((of) => createConnection(of)));
    const asked = [...ids, ...ids, newId('con')].flatMap((id) => [org, other].map((caller) => ({ caller, id })));
    const replies = await Promise.all(asked.map(({ caller, id }) => caller.call('GET', `/connections/${id}`)));
    const got = replies.map(({ status, body }) => (status === 200 ? `${body.orgId} ${body.id}` : status));
    const ownerOf = (id: string) => [org, org, org, other, other][ids.indexOf(id)];
    expect(got).toEqual(asked.map(({ caller, id }) => (ownerOf(id) === caller ? `${caller.orgId} ${id}` : 404)));
  });
});

describe('activate and pause', () => {
  it('work from every status, and activating twice changes nothing', async () => {
    const id = await createConnection(org);
    const steps = ['activate', 'activate', 'pause', 'pause', 'activate'];
    const statuses: string[] = [];
    for (const step of steps) statuses.push((await org.call('POST', `/connections/${id}/${step}`)).body.status);
    expect(statuses).toEqual(['active', 'active', 'paused', 'paused', 'active']);
  });

  it('pausing cancels the runs that wait', async () => {
    const id = await createActiveConnection(org);
    const [runId] = await requestRuns({ db: api.deps.db, org }, id, 1);
    await org.call('POST', `/connections/${id}/pause`);
    expect((await org.call('GET', `/runs/${runId}`)).body).toMatchObject({ status: 'canceled', error: null });
  });

  it('responds with 402 beyond the plan cap, however many ask at once', async () => {
    const capped = await api.newOrg({ activeConnectionsMax: 2 });
    await publishSpec(capped);
    const ids: string[] = [];
    for (let index = 0; index < 6; index += 1) ids.push(await createConnection(capped));
    const replies = await Promise.all(ids.map((id) => capped.call('POST', `/connections/${id}/activate`)));
    expect(Map.groupBy(replies, ({ status }) => status).get(200)).toHaveLength(2);
    expect(Map.groupBy(replies, ({ status }) => status).get(402)).toHaveLength(4);
    expect(replies.find(({ status }) => status === 402)?.body.error.code).toBe('plan_limit');

    const active = replies.find(({ status }) => status === 200)?.body.id;
    expect((await capped.call('POST', `/connections/${active}/activate`)).status).toBe(200);
    await capped.call('POST', `/connections/${active}/pause`);
    const refused = replies.findIndex(({ status }) => status === 402);
    expect((await capped.call('POST', `/connections/${ids[refused]}/activate`)).status).toBe(200);
  });
});

describe('POST /connections/:id/sync', () => {
  it('responds with 202 and a queued run even while Temporal is away', async () => {
    const id = await createActiveConnection(org);
    const { status, body } = await org.call('POST', `/connections/${id}/sync`, { body: { resource: 'items' } });
    expect(status).toBe(202);
    expect(body).toMatchObject({
      connectionId: id,
      resourceKey: 'items',
      trigger: 'manual',
      status: 'queued',
      startedAt: null,
    });
    expect((await org.call('GET', `/runs/${body.id}`)).body).toEqual(body);
    expect(
      (await org.call('GET', `/runs?connectionId=${id}&status=queued&resource=items&trigger=manual`)).body,
    ).toEqual([body]);
    expect((await org.call('GET', `/runs?connectionId=${id}&status=failed`)).body).toEqual([]);
  });

  it('responds with 409 unless the connection is active, and 400 for a resource the spec lacks', async () => {
    const id = await createConnection(org);
    const sync = (resource: string) => org.call('POST', `/connections/${id}/sync`, { body: { resource } });
    expect(await sync('items')).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    await org.call('POST', `/connections/${id}/activate`);
    expect(await sync('nope')).toMatchObject({
      status: 400,
      body: { error: { code: 'validation', issues: [{ path: 'resource' }] } },
    });
    expect((await org.call('GET', `/runs?connectionId=${id}`)).body).toEqual([]);
  });

  it('responds with 409 when neither the effective spec nor the deployment says where records go', async () => {
    const id = await createActiveConnection(org);
    const none = { specOverridesJson: { destination: null } };
    expect(await org.call('PATCH', `/connections/${id}`, { body: none })).toMatchObject({
      status: 400,
      body: { error: { issues: [{ path: 'destination' }] } },
    });
    // A version before took it.
    await api.deps.db
      .updateTable('connections')
      .set({ specOverridesJson: JSON.stringify(none.specOverridesJson) })
      .where('id', '=', id)
      .execute();
    expect(await org.call('POST', `/connections/${id}/sync`, { body: { resource: 'items' } })).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict', message: expect.stringContaining('add `destination` to the spec') } },
    });
  });
});

describe('POST /connections of a spec without a destination', () => {
  it('responds with 409 where the deployment has none, and makes nothing', async () => {
    const homeless = await api.newOrg();
    const { destination: _, ...spec } = specDocument({ key: 'homeless' });
    await homeless.call('POST', '/specs', { body: spec });
    await homeless.call('POST', '/specs/homeless/versions/1.0.0/publish');
    const body = connectionBody(homeless, 'homeless');
    expect(await homeless.call('POST', '/connections', { body })).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict', message: expect.stringContaining('add `destination` to the spec') } },
    });
    expect((await homeless.call('GET', '/connections')).body).toEqual([]);
  });
});
