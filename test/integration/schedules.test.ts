import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { createConnection, publishSpec, specDocument } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
let connectionId: string;

beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  await publishSpec(org);
  connectionId = await createConnection(org);
});
afterAll(() => api[Symbol.asyncDispose]());

const hourly = { resourceKey: 'items', cron: '0 * * * *' };
const post = (body: unknown, id = connectionId) => org.call('POST', `/connections/${id}/schedules`, { body });
const list = async (id = connectionId) => (await org.call('GET', `/connections/${id}/schedules`)).body;

/** What is stored beside the row that the API shows. */
const stored = (id: string) =>
  api.deps.db
    .selectFrom('schedules')
    .select(['version', 'appliedVersion', 'deletedAt', 'enabled'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

describe('a schedule', () => {
  it('is made enabled, in UTC unless it says otherwise, although Temporal is away', async () => {
    const { status, body } = await post(hourly);
    const row = { ...hourly, connectionId, timezone: 'UTC', enabled: true };
    expect({ status, body }).toEqual({ status: 201, body: { ...row, id: expect.stringMatching(/^sched_/) } });
    expect(await stored(body.id)).toMatchObject({ version: 1, appliedVersion: 0 });
    expect((await post({ ...hourly, timezone: 'Europe/Kyiv' })).body.timezone).toBe('Europe/Kyiv');
  });

  it('is listed with the others of its connection, newest first', async () => {
    const id = await createConnection(org);
    expect(await list(id)).toEqual([]);
    const made = [await post(hourly, id), await post({ ...hourly, cron: '0 0 L * *' }, id)].map(({ body }) => body);
    expect(await list(id)).toEqual(made.toReversed());
  });

  it('is switched off and on again', async () => {
    const { body } = await post(hourly);
    for (const enabled of [false, true]) {
      const reply = await org.call('PATCH', `/schedules/${body.id}`, { body: { enabled } });
      expect(reply).toMatchObject({ status: 200, body: { ...body, enabled } });
    }
    expect((await stored(body.id)).version).toBe(3);
  });

  it('is absent after it was deleted', async () => {
    const { body } = await post(hourly);
    expect(await org.call('DELETE', `/schedules/${body.id}`)).toMatchObject({ status: 200, body: { deleted: true } });
    const gone = { status: 404, body: { error: { code: 'not_found', message: 'Schedule not found.' } } };
    expect(await org.call('DELETE', `/schedules/${body.id}`)).toMatchObject(gone);
    expect(await org.call('PATCH', `/schedules/${body.id}`, { body: { enabled: true } })).toMatchObject(gone);
    expect(await list()).not.toContainEqual(body);
  });

  it('is made once for a repeated Idempotency-Key', async () => {
    const id = await createConnection(org);
    const request = { body: hourly, headers: { 'idempotency-key': 'one' } };
    const [first, second] = [
      await org.call('POST', `/connections/${id}/schedules`, request),
      await org.call('POST', `/connections/${id}/schedules`, request),
    ];
    expect(second.body).toEqual(first.body);
    expect(await list(id)).toHaveLength(1);
  });
});

describe('a schedule that is not valid', () => {
  it.each([
    ['cron', { cron: '* * * *' }],
    ['cron', { cron: '0 9 * * 1-5 2031' }],
    ['cron', { cron: '@hourly' }],
    ['cron', { cron: 'H * * * *' }],
    ['cron', { cron: 5 }],
    ['timezone', { timezone: '+05:30' }],
    ['timezone', { timezone: 'Local' }],
    ['resourceKey', { resourceKey: 'nope' }],
    ['resourceKey', { resourceKey: undefined }],
  ])('is refused at %s: %j', async (path, change) => {
    const { status, body } = await post({ ...hourly, ...change });
    expect({ status, code: body.error.code }).toEqual({ status: 400, code: 'validation' });
    expect(body.error.issues).toMatchObject([{ code: 'schema', path }]);
  });

  it('gets an error that lists all its issues', async () => {
    const { body } = await post({ resourceKey: 'feed', cron: 'x', timezone: 'Mars/Olympus' });
    const paths = body.error.issues.map(({ path }: { path: string }) => path);
    expect(paths).toEqual(['resourceKey', 'cron', 'timezone']);
  });

  it('of no connection is a 404, whatever else', async () => {
    for (const id of [newId('con'), 'abc']) {
      expect(await post(hourly, id)).toMatchObject({
        status: 404,
        body: { error: { message: 'Connection not found.' } },
      });
    }
    expect((await org.call('GET', `/connections/${newId('con')}/schedules`)).status).toBe(404);
  });

  it('fires more often than the deployment allows', async () => {
    await using strict = await startApi({ scheduleMinIntervalSeconds: 300 });
    const strictOrg = await strict.newOrg();
    await publishSpec(strictOrg);
    const path = `/connections/${await createConnection(strictOrg)}/schedules`;
    const statusOf = async (cron: string) => (await strictOrg.call('POST', path, { body: { ...hourly, cron } })).status;
    expect(await statusOf('*/5 * * * *')).toBe(201);
    expect(await statusOf('*/4 * * * *')).toBe(400);
    expect(await statusOf('0,1 0 1 1 *')).toBe(400);
  });
});

describe('a connection', () => {
  it('makes its schedules follow when it is activated or paused, and not when nothing changes', async () => {
    const id = await createConnection(org);
    const { body } = await post(hourly, id);
    await org.call('POST', `/connections/${id}/activate`);
    await org.call('POST', `/connections/${id}/activate`);
    await org.call('POST', `/connections/${id}/pause`);
    expect(await stored(body.id)).toMatchObject({ version: 3, enabled: true });
  });

  it('that is deleted takes its schedules with it', async () => {
    const id = await createConnection(org);
    const { body } = await post(hourly, id);
    await org.call('DELETE', `/connections/${id}`);
    expect((await org.call('PATCH', `/schedules/${body.id}`, { body: { enabled: true } })).status).toBe(404);
    expect((await stored(body.id)).deletedAt).not.toBeNull();
  });

  it('whose upgrade takes a resource away switches its schedules off, and those of no other', async () => {
    const document = specDocument({ key: 'two' });
    const people = document.resources.map((items) => ({ ...items, key: 'people', target: { table: 'people' } }));
    await publish({ ...document, resources: [...document.resources, ...people] });
    await publish({ ...document, metadata: { ...document.metadata, version: '2.0.0' } });
    const id = await createConnection(org, { specKey: 'two' });
    const schedules = [await post(hourly, id), await post({ ...hourly, resourceKey: 'people' }, id)];
    const { body } = await org.call('POST', `/connections/${id}/upgrade-spec`, { body: { toVersion: '2.0.0' } });
    expect(body.applied).toBe(true);
    const [ofItems, ofPeople] = await Promise.all(schedules.map((schedule) => stored(schedule.body.id)));
    expect([ofItems, ofPeople]).toMatchObject([
      { enabled: true, version: 1 },
      { enabled: false, version: 2 },
    ]);
  });
});

async function publish(document: ReturnType<typeof specDocument>): Promise<void> {
  await org.call('POST', '/specs', { body: document });
  const { key, version } = document.metadata;
  const { status, body } = await org.call('POST', `/specs/${key}/versions/${version}/publish`);
  if (status !== 200) throw new Error(JSON.stringify(body));
}
