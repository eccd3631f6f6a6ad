import { describe, expect, it } from 'vitest';
import { eventually } from '../support/service/eventually.ts';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { type Customer, connectCustomer, intoDatabase } from '../support/sync/customer.ts';
import { createScriptedApi, type ScriptedReply } from '../support/upstream/scripted-api.ts';
import { recordedEvents, typesOf, withoutGaps } from '../support/webhooks/events.ts';

const api = createScriptedApi();
const shared = useSharedService({ reply: api.reply });

const planted = { param: 'planted-param', secret: 'planted-secret', record: 'planted-record' };
const good = { body: [{ id: 1, name: planted.record, count: 1 }] };
const withInvalid = {
  body: [
    { id: 1, name: planted.record, count: 1 },
    { id: 2, name: 'b', count: planted.record },
  ],
};

/** Publishes a spec with resources that response as `replies` say, and activates a connection of it. */
async function open(key: string, resources: readonly string[], reply: () => ScriptedReply) {
  const { upstream, stack } = shared();
  for (const resource of resources) api.serve(resource, reply);
  const document = (version: string) => ({
    metadata: { key, name: key, version },
    connectionParams: [
      { key: 'account', type: 'string' },
      { key: 'token', type: 'string', secret: true },
    ],
    auth: { kind: 'bearer', token: '{{ secrets.token }}' },
    http: {
      baseUrl: upstream.url,
      rateLimit: { requests: 1_000_000, perSeconds: 1, maxConcurrent: 4 },
      retry: { baseMs: 10, maxAttempts: 2 },
    },
    resources: resources.map((resource) => ({
      key: resource,
      primaryKey: 'id',
      request: { path: `/${resource}`, query: { account: '{{ params.account }}' } },
      transform: '{ "id": id, "name": name, "count": $number(count) }',
      onInvalid: 'quarantine',
      target: { table: resource },
    })),
  });
  const customer = await connectCustomer(stack, {
    document: document('1.0.0'),
    params: { account: planted.param },
    secrets: { token: planted.secret },
  });
  return { customer, document };
}

const call = async (method: string, path: string, body?: object) => {
  const reply = await shared().stack.org.call(method, path, body === undefined ? {} : { body });
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`);
  return reply.body;
};

const eventsOf = ({ connectionId }: Pick<Customer, 'connectionId'>) =>
  recordedEvents(shared().stack.db, { orgId: shared().stack.org.orgId, connectionId });

describe('the life of a connection', () => {
  it('is recorded as events in order, without gaps, params, secrets or records', async () => {
    const { stack, upstream } = shared();
    let reply: ScriptedReply = good;
    const { customer, document } = await open('story', ['items'], () => reply);
    await using connection = customer;
    const at = (rest = '') => `/connections/${connection.connectionId}${rest}`;
    const sync = () => connection.sync('items');
    // Nobody gets the start of a run unless they ask for it.
    const named = { url: upstream.url, eventTypes: ['run.started'], enabled: false };
    const endpoint = await call('POST', '/webhook-endpoints', named);

    expect((await sync()).status).toBe('succeeded');
    reply = withInvalid;
    expect((await sync()).status).toBe('partial');
    const [quarantined] = await call('GET', `/quarantine?connectionId=${connection.connectionId}`);
    reply = { status: 404 };
    expect((await sync()).status).toBe('failed');
    const gate = upstream.hold(upstream.journal.length + 1);
    const { id: canceled } = await call('POST', at('/sync'), { resource: 'items' });
    await gate.reached;
    await call('POST', `/runs/${canceled}/cancel`);
    gate.release();
    await ended(canceled);
    await call('POST', at('/pause'));
    await call('POST', at('/pause'));
    await call('POST', at('/activate'));
    reply = { status: 401 };
    expect((await sync()).status).toBe('failed');
    await call('POST', at('/activate'));
    await stack.org.call('POST', '/specs', { body: intoDatabase(document('2.0.0')) });
    await call('POST', '/specs/story/versions/2.0.0/publish');
    await call('POST', at('/upgrade-spec'), { toVersion: '2.0.0', dryRun: true });
    await call('POST', at('/upgrade-spec'), { toVersion: '2.0.0' });
    const schedule = await call('POST', at('/schedules'), { resourceKey: 'items', cron: '0 3 * * *' });
    for (const enabled of [false, false]) await call('PATCH', `/schedules/${schedule.id}`, { enabled });
    await call('DELETE', `/schedules/${schedule.id}`);
    for (const requeue of ['requeue', 'requeue']) await call('POST', `/quarantine/${quarantined.id}/${requeue}`);

    await call('DELETE', `/webhook-endpoints/${endpoint.id}`);
    const events = await eventsOf(connection);
    expect(typesOf(events)).toEqual([
      ...['connection.created', 'connection.activated'],
      ...['run.started', 'run.succeeded'],
      ...['run.started', 'records.quarantined', 'run.partial'],
      ...['run.started', 'run.failed'],
      ...['run.started', 'run.canceled'],
      ...['connection.paused', 'connection.activated'],
      ...['run.started', 'run.failed', 'connection.error', 'connection.activated', 'connection.recovered'],
      'connection.spec_upgraded',
      ...['schedule.created', 'schedule.updated', 'schedule.deleted'],
      'records.requeued',
    ]);
    expect(events.map(({ sequence }) => sequence)).toEqual(withoutGaps(events));
    const first = (type: string) => events.find((event) => event.type === type)?.data;
    expect(first('run.succeeded').run).toEqual(await call('GET', `/runs/${first('run.succeeded').run.id}`));
    expect(first('records.quarantined')).toMatchObject({
      count: 1,
      truncated: false,
      records: [{ quarantineId: quarantined.id, externalId: '2', issues: [{ path: '', code: 'transform' }] }],
    });
    expect(first('run.partial')).toMatchObject({ quarantined: 1, rejected: 0 });
    expect(first('run.failed').error).toMatchObject({ code: 'source_rejected', stage: 'fetch', retryable: false });
    expect(first('run.canceled').reason).toBe('requested');
    expect(first('connection.error')).toMatchObject({
      connection: { status: 'error', specKey: 'story' },
      error: { code: 'auth_failed' },
    });
    expect(first('connection.recovered').failedSince).toMatch(/^2/);
    expect(first('schedule.updated')).toMatchObject({ schedule: { enabled: false }, previous: { enabled: true } });
    const told = events.map(({ text }) => text).join('\n');
    for (const value of Object.values(planted)) expect(told).not.toContain(value);
    expect(told).not.toContain(connection.destination.url);
  });

  it('says of the runs of several resources at once how each ended, once, and not that they began while no endpoint names that', async () => {
    const resources = ['one', 'two', 'three', 'four'];
    const { customer } = await open('many', resources, () => good);
    await using connection = customer;
    const asked = Array.from({ length: 20 }, (_, index) => ({ resource: resources[index % resources.length] }));
    const runs = await Promise.all(
      asked.map((body) => call('POST', `/connections/${connection.connectionId}/sync`, body)),
    );
    const ids: readonly string[] = runs.map(({ id }) => id);
    await Promise.all(ids.map(ended));
    const events = await eventsOf(connection);
    expect(events.map(({ sequence }) => sequence)).toEqual(withoutGaps(events));
    const ofRun = Map.groupBy(
      events.filter(({ runId }) => runId !== null),
      ({ runId }) => runId,
    );
    expect(new Set(ofRun.keys())).toEqual(new Set(ids));
    for (const notified of ofRun.values()) expect(typesOf(notified)).toEqual(['run.succeeded']);
  });
});

describe('the life of an org', () => {
  it('is recorded as events together with those of its connections', async () => {
    const { stack } = shared();
    const before = await recordedEvents(stack.db, { orgId: stack.org.orgId });
    const { customer } = await open('org-story', ['beside'], () => good);
    await using _connection = customer;
    await call('POST', '/specs/org-story/versions/1.0.0/deprecate');
    await call('POST', '/specs/org-story/versions/1.0.0/deprecate');
    const { id: apiKeyId, key } = await call('POST', '/api-keys');
    await call('DELETE', `/api-keys/${apiKeyId}`);
    await call('DELETE', `/api-keys/${apiKeyId}`);
    const events = (await recordedEvents(stack.db, { orgId: stack.org.orgId })).slice(before.length);
    expect(events.map(({ type, sequence }) => [type, sequence])).toEqual([
      ['spec.published', null],
      ['spec.deprecated', null],
      ['api_key.created', null],
      ['api_key.revoked', null],
    ]);
    const told = events.map(({ text }) => text).join('\n');
    expect(told).not.toContain(key);
    expect(told).not.toContain('baseUrl');
  });
});

async function ended(runId: string): Promise<void> {
  await eventually(`run ${runId} ends`, async () => (await call('GET', `/runs/${runId}`)).finishedAt !== null);
}
