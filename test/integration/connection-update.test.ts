import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findSecret } from '../../db/queries/connections/secrets.ts';
import { orgScope } from '../../db/scope.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { connectionBody, publishSpec } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  await publishSpec(org);
});
afterAll(() => api[Symbol.asyncDispose]());

async function connection(values: object = {}) {
  const { body } = await org.call('POST', '/connections', { body: { ...connectionBody(org), ...values } });
  return {
    row: body,
    patch: (changes: unknown) => org.call('PATCH', `/connections/${body.id}`, { body: changes }),
    read: async () => (await org.call('GET', `/connections/${body.id}`)).body,
    secrets: () => secretsOf(body.id),
  };
}

async function secretsOf(connectionId: string): Promise<unknown> {
  const kind = 'params-secret';
  const sealed = await findSecret(api.deps.db, orgScope(org.orgId), { connectionId, kind });
  return sealed && JSON.parse(api.deps.secretBox.open(sealed, { orgId: org.orgId, ownerId: connectionId, kind }));
}

const issuePaths = (reply: { readonly body: { error: { issues: { path: string }[] } } }) =>
  reply.body.error.issues.map(({ path }) => path);

describe('PATCH /connections/:id', () => {
  it('changes what is given and nothing else', async () => {
    const { row, patch, read } = await connection({ params: { subdomain: 'acme' }, externalCustomerId: 'c-1' });
    expect(await patch({})).toMatchObject({ status: 200, body: row });
    const renamed = { ...row, applied: true, plan: null, displayName: 'New' };
    expect((await patch({ displayName: 'New', orgId: 'org_x', status: 'active' })).body).toEqual(renamed);
    expect((await patch({ externalCustomerId: null })).body).toEqual({ ...renamed, externalCustomerId: null });
    expect(await read()).toEqual({ ...row, displayName: 'New', externalCustomerId: null });
  });

  it('only says what it would do when it is a dry run', async () => {
    const { row, patch, read } = await connection({ params: { subdomain: 'acme' } });
    const { status, body } = await patch({ displayName: 'New', params: { subdomain: 'other' }, dryRun: true });
    expect({ status, ...body }).toMatchObject({ status: 200, ...row, applied: false, plan: { issues: [] } });
    const broken = await patch({ params: { subdomain: 7 }, dryRun: true });
    expect(broken).toMatchObject({ status: 200, body: { plan: { class: 'breaking', issues: [{}] } } });
    expect(await read()).toEqual(row);
  });

  it('replaces params as a whole, with the defaults of the spec', async () => {
    const { patch } = await connection({ params: { subdomain: 'acme', startDate: '2024-01-01' } });
    expect((await patch({ params: { subdomain: 'other' } })).body.paramsJson).toEqual({
      subdomain: 'other',
      startDate: '2020-01-01',
    });
  });

  it('merges secrets by key and deletes those that are null, sealed anew and never returned', async () => {
    const { patch, secrets } = await connection();
    const { status, body } = await patch({ secrets: { apiKey: 'hunter2-hunter2' } });
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toContain('hunter2');
    expect(await secrets()).toEqual({ apiKey: 'hunter2-hunter2' });
    await patch({ secrets: {} });
    expect(await secrets()).toEqual({ apiKey: 'hunter2-hunter2' });
    await patch({ secrets: { apiKey: null } });
    expect(await secrets()).toEqual({});
    expect(api.logLines.join('')).not.toContain('hunter2');
  });

  it.each<[string, object, string]>([
    ['an unknown param', { params: { nope: 1 } }, 'params.nope'],
    ['a param of the wrong form', { params: { subdomain: 'evil.example/' } }, 'params.subdomain'],
    ['a secret of the wrong type', { secrets: { apiKey: 1 } }, 'secrets.apiKey'],
    ['an unknown secret', { secrets: { nope: 'x' } }, 'secrets.nope'],
    ['protected overrides', { specOverridesJson: { metadata: { name: 'x' } } }, 'specOverridesJson.metadata'],
    ['overrides that make no spec', { specOverridesJson: { http: { baseUrl: 7 } } }, 'specOverridesJson.http.baseUrl'],
    [
      'overrides that demand a value',
      { specOverridesJson: { connectionParams: [{ key: 'apiKey', required: true }] } },
      'secrets.apiKey',
    ],
    ['params that are a list', { params: [] }, 'params'],
    ['a name without a character', { displayName: ' ' }, 'displayName'],
    ['no name', { displayName: null }, 'displayName'],
  ])('responds with 400 and the place for %s, and changes nothing', async (_what, changes, path) => {
    const { row, patch, read, secrets } = await connection();
    const reply = await patch({ externalCustomerId: 'changed', ...changes });
    expect(reply).toMatchObject({ status: 400, body: { error: { code: 'validation' } } });
    expect(issuePaths(reply)).toContain(path);
    expect(await read()).toEqual(row);
    expect(await secrets()).toEqual({});
  });

  it('checks the values against the overrides of the same request', async () => {
    const { patch } = await connection();
    const specOverridesJson = { connectionParams: [{ key: 'region', type: 'string', required: true }] };
    expect(issuePaths(await patch({ specOverridesJson }))).toEqual(['params.region']);
    expect((await patch({ specOverridesJson, params: { region: 'eu' } })).body).toMatchObject({
      specOverridesJson,
      paramsJson: { region: 'eu' },
    });
    expect((await patch({ specOverridesJson: null })).body).toMatchObject({
      specOverridesJson: null,
      paramsJson: { startDate: '2020-01-01' },
    });
  });

  it('makes a resource start over when overrides give it another key', async () => {
    const { row, patch } = await connection();
    await org.call('POST', `/connections/${row.id}/activate`);
    await org.call('POST', `/connections/${row.id}/sync`, { body: { resource: 'items' } });
    await patch({ specOverridesJson: { resources: [{ key: 'items', primaryKey: ['code'] }] } });
    const lanes = api.deps.db.selectFrom('lanes').select('meaning').where('connectionId', '=', row.id);
    // What the lane has is of the earlier key, which its next run will see.
    expect((await lanes.executeTakeFirst())?.meaning).toMatchObject({ key: expect.any(String) });
  });

  it('responds with 409 while stored overrides are invalid, until they are corrected', async () => {
    const { row, patch } = await connection();
    await api.deps.db
      .updateTable('connections')
      .set({ specOverridesJson: '{"resources":7}' })
      .where('id', '=', row.id)
      .execute();
    expect(await patch({ params: {} })).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    expect((await patch({ displayName: 'Still possible' })).status).toBe(200);
    expect((await patch({ params: {}, specOverridesJson: null })).status).toBe(200);
  });

  it('loses none of many simultaneous changes', async () => {
    const { row, patch, read, secrets } = await connection();
    const changes = [{ displayName: 'A' }, { params: { subdomain: 'b' } }, { secrets: { apiKey: 'c' } }];
    const replies = await Promise.all([...changes, { externalCustomerId: 'd' }].map(patch));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const paramsJson = { subdomain: 'b', startDate: '2020-01-01' };
    expect(await read()).toEqual({ ...row, displayName: 'A', paramsJson, externalCustomerId: 'd' });
    expect(await secrets()).toEqual({ apiKey: 'c' });
  });
});
