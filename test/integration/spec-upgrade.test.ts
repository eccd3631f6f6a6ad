import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { connectionBody, publishSpec, specDocument } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  await publishSpec(org);
  await publish('1.1.0', {}, { transform: '{ "id": id }' });
  await publish('2.0.0', {}, { primaryKey: ['code'] });
  await publish('3.0.0', { connectionParams: [{ key: 'region', type: 'string' }] });
  await publish('4.0.0', { auth: { kind: 'bearer', token: '{{ secrets.apiKey }}' } });
  await publish('5.0.0', { connectionParams: [{ key: 'region', type: 'string', default: 'eu' }] });
  await publish('6.0.0', {}, { key: 'orders' });
  await publish('7.1.0', {}, { target: { table: 'items', columns: { size: { type: 'text' } } } });
  await publish('7.2.0', {}, { target: { table: 'items', columns: { size: { type: 'integer' } } } });
  await org.call('POST', '/specs', { body: specDocument({ version: '9.0.0' }) });
});
afterAll(() => api[Symbol.asyncDispose]());

async function publish(version: string, changes: object, resource: object = {}): Promise<void> {
  const document = specDocument({ version });
  const resources = document.resources.map((item) => ({ ...item, ...resource }));
  await org.call('POST', '/specs', { body: { ...document, resources, ...changes } });
  const { status } = await org.call('POST', `/specs/acme/versions/${version}/publish`);
  if (status !== 200) throw new Error(`${version} is not published`);
}

async function connection(values: object = {}) {
  const { body } = await org.call('POST', '/connections', { body: { ...connectionBody(org), ...values } });
  const { id } = body;
  return {
    id,
    row: body,
    upgrade: (toVersion: string, dryRun?: boolean) =>
      org.call('POST', `/connections/${id}/upgrade-spec`, { body: { toVersion, dryRun } }),
    read: async () => (await org.call('GET', `/connections/${id}`)).body,
    sync: async () => {
      await org.call('POST', `/connections/${id}/activate`);
      return (await org.call('POST', `/connections/${id}/sync`, { body: { resource: 'items' } })).body;
    },
    /** Whether its only lane says what its facts are about. */
    saysMeaning: async () => {
      const lanes = api.deps.db.selectFrom('lanes').select('meaning').where('connectionId', '=', id);
      return (await lanes.executeTakeFirst())?.meaning !== null;
    },
  };
}

describe('POST /connections/:id/upgrade-spec', () => {
  it('pins the connection to the version and says what that means', async () => {
    const { id, row, upgrade, read } = await connection();
    expect(await upgrade('1.1.0')).toMatchObject({
      status: 200,
      body: {
        connectionId: id,
        from: '1.0.0',
        to: '1.1.0',
        applied: true,
        plan: { class: 'compatible', issues: [], resources: [{ resourceKey: 'items', redelivers: 'everything' }] },
      },
    });
    expect(await read()).toEqual({ ...row, pinnedSpecVersion: '1.1.0' });
    expect((await upgrade('1.0.0')).body).toMatchObject({ from: '1.1.0', to: '1.0.0', applied: true });
  });

  it('only says it in a dry run', async () => {
    const { row, upgrade, read, sync, saysMeaning } = await connection();
    await sync();
    expect((await upgrade('2.0.0', true)).body).toMatchObject({ applied: false, plan: { class: 'resets' } });
    expect(await read()).toEqual({ ...row, status: 'active' });
    expect(await saysMeaning()).toBe(false);
  });

  it('says in a dry run of a column whose type changes that its table refuses every batch', async () => {
    const { row, upgrade, read } = await connection({ specVersion: '7.1.0' });
    const { status, body } = await upgrade('7.2.0', true);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      applied: false,
      plan: { class: 'breaking', issues: [], resources: [{ resourceKey: 'items', class: 'breaking' }] },
    });
    expect(body.plan.resources[0].effect).toMatch(/refuses every batch: alter "size" of items from text to integer/);
    expect(await read()).toEqual(row);
    expect((await upgrade('7.1.0', true)).body.plan.class).toBe('compatible');
  });

  it('lets the next run of a resource start over whose key changed', async () => {
    const { upgrade, sync, saysMeaning } = await connection();
    const run = await sync();
    expect((await upgrade('2.0.0')).body).toMatchObject({
      applied: true,
      plan: { class: 'resets', resources: [{ resets: 'state', rekeyedTable: 'items' }] },
    });
    // Its facts are those of the earlier key, which the run that has not begun will see.
    expect(await saysMeaning()).toBe(true);
    expect((await org.call('GET', `/runs/${run.id}`)).body.status).toBe('queued');
  });

  it.each([
    ['3.0.0', 'params.region is required'],
    ['4.0.0', 'auth.kind changes from none to bearer'],
  ])('refuses to break a connection, here by version %s, and changes nothing', async (version, reason) => {
    const { row, upgrade, read } = await connection();
    const refused = await upgrade(version);
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    expect(refused.body.error.message).toContain(reason);
    expect(await read()).toEqual(row);
    const [path = ''] = reason.split(' ');
    expect((await upgrade(version, true)).body).toMatchObject({
      applied: false,
      plan: { class: 'breaking', issues: [{ path }] },
    });
  });

  it('fills in new defaults and drops values that are not declared any more', async () => {
    const { upgrade, read } = await connection({ params: { subdomain: 'acme' }, secrets: { apiKey: 'k' } });
    expect((await upgrade('5.0.0')).status).toBe(200);
    expect((await read()).paramsJson).toEqual({ region: 'eu' });
  });

  it('leaves out a resource that is removed: syncing it is refused from then on', async () => {
    const { id, upgrade } = await connection();
    await org.call('POST', `/connections/${id}/activate`);
    expect((await upgrade('6.0.0')).body).toMatchObject({ applied: true, plan: { class: 'breaking', issues: [] } });
    const sync = (resource: string) => org.call('POST', `/connections/${id}/sync`, { body: { resource } });
    expect((await sync('items')).status).toBe(400);
    expect((await sync('orders')).status).toBe(202);
  });

  it('is refused when the overrides do not fit the version', async () => {
    const { id, upgrade } = await connection();
    const specOverridesJson = { resources: [{ key: 'items', limits: { maxDurationSeconds: 21_600 } }] };
    await org.call('PATCH', `/connections/${id}`, { body: { specOverridesJson } });
    const refused = await upgrade('6.0.0');
    expect(refused).toMatchObject({ status: 409 });
    expect(refused.body.error.message).toContain('specOverridesJson.resources.1');
  });

  it('responds with 404 for a version that the spec of the connection lacks, and 409 for one that is not published', async () => {
    const { upgrade } = await connection();
    await publishSpec(org, { key: 'other', version: '7.0.0' });
    for (const version of ['7.0.0', 'latest']) {
      expect(await upgrade(version)).toMatchObject({
        status: 404,
        body: { error: { message: 'Spec version not found.' } },
      });
    }
    for (const dryRun of [false, true]) {
      expect(await upgrade('9.0.0', dryRun)).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    }
  });
});

describe('POST /specs/:key/versions/:version/deprecate', () => {
  const deprecate = (key: string, version = '1.0.0') => org.call('POST', `/specs/${key}/versions/${version}/deprecate`);

  it('closes a version to connections and upgrades, and leaves those pinned to it as they are', async () => {
    await publishSpec(org, { key: 'aging' });
    await publishSpec(org, { key: 'aging', version: '1.1.0' });
    const { id, upgrade } = await connection({ specKey: 'aging' });
    const moved = await connection({ specKey: 'aging', specVersion: '1.1.0' });
    expect(await deprecate('aging')).toMatchObject({ status: 200, body: { status: 'deprecated', version: '1.0.0' } });
    expect(await deprecate('aging')).toMatchObject({ status: 200, body: { status: 'deprecated' } });

    const body = { ...connectionBody(org), specKey: 'aging' };
    expect((await org.call('POST', '/connections', { body })).status).toBe(409);
    expect((await moved.upgrade('1.0.0')).status).toBe(409);
    expect((await upgrade('1.1.0', true)).status).toBe(200);
    await org.call('POST', `/connections/${id}/activate`);
    expect((await org.call('POST', `/connections/${id}/sync`, { body: { resource: 'items' } })).status).toBe(202);
    expect(await org.call('POST', '/specs/aging/versions/1.0.0/publish')).toMatchObject({ status: 409 });
  });

  it('responds with 409 for a draft and 404 for an unknown version', async () => {
    expect(await deprecate('acme', '9.0.0')).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    expect((await deprecate('acme', '8.0.0')).status).toBe(404);
    expect((await deprecate('nobodys')).status).toBe(404);
  });
});
