import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findUndispatchedRuns } from '../../db/queries/runs/maintenance/sweep.ts';
import { orgScope } from '../../db/scope.ts';
import { wakeEndpoints } from '../../src/dispatch/wake-endpoints.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { createActiveConnection, publishSpec, requestRuns } from '../support/upstream/api-fixtures.ts';
import { createHook, sendTo, type TestHook } from '../support/webhooks/hooks.ts';
import { createEndpoint, happen } from '../support/webhooks/webhook-rows.ts';

let api: TestApi;
let hostile: TestOrg;
let other: TestOrg;
let connectionId: string;

beforeAll(async () => {
  api = await startApi();
  hostile = await api.newOrg();
  other = await api.newOrg();
  await publishSpec(hostile);
  connectionId = await createActiveConnection(hostile);
});
afterAll(() => api[Symbol.asyncDispose]());

/** A body that never ends, until it is cut. */
function endlessBody() {
  const cut = Promise.withResolvers<void>();
  const stream = () =>
    new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new Uint8Array(1));
        await cut.promise;
        controller.error(new Error('cut'));
      },
    });
  return { stream, cut: () => cut.resolve() };
}

/** Sends a request whose body is a stream. */
const sendSlowly = async (path: string, body: ReadableStream, headers = {}): Promise<Response> =>
  api.app.request(path, { method: 'POST', headers, body, duplex: 'half' });

describe('an org whose requests all wait for one lock', () => {
  it('leaves connections of the database to others, also when it sends 100 at once', async () => {
    const locked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const lock = api.deps.db.transaction().execute(async (tx) => {
      await tx.selectFrom('orgs').select('id').where('id', '=', hostile.orgId).forUpdate().execute();
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const body = { resourceKey: 'items', cron: '0 3 * * *' };
    const flood = Array.from({ length: 100 }, () =>
      hostile.call('POST', `/connections/${connectionId}/schedules`, { body }),
    );
    for (let read = 0; read < 5; read += 1) expect((await other.call('GET', '/connections')).status).toBe(200);
    release.resolve();
    await lock;
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(20);
  });
});

describe('the requests of an org in progress', () => {
  it('are 200 at most, to the API as to all of its hooks; the others wait, while those of another org are served', async () => {
    const hooks: TestHook[] = [];
    while (hooks.length < 3) hooks.push(await createHook(sendTo(api), hostile, connectionId));
    const urlOf = (n: number) => hooks[n % hooks.length]?.url ?? '';
    const { stream, cut } = endlessBody();
    const credential = { authorization: `Bearer ${hostile.apiKey}` };
    const done: string[] = [];
    const toHooks = Array.from({ length: 200 }, (_, n) => sendSlowly(new URL(urlOf(n)).pathname, stream()));
    const hook = sendTo(api)(urlOf(0), { method: 'POST', body: '{}' }).finally(() => done.push('hook'));
    expect((await hostile.call('GET', '/connections')).status).toBe(200);
    const toApi = Array.from({ length: 200 }, () =>
      sendSlowly(`/api/v1/connections/${connectionId}/sync`, stream(), credential),
    );
    const read = hostile.call('GET', '/connections').finally(() => done.push('read'));
    for (let n = 0; n < 10; n += 1) expect((await other.call('GET', '/connections')).status).toBe(200);
    expect(done).toEqual([]);
    cut();
    expect([(await hook).status, (await read).status]).toEqual([202, 200]);
    await Promise.all([...toApi, ...toHooks]);
  });
});

describe('runs that Temporal has not heard of', () => {
  it('are started by the sweeper in turns of orgs, however many one has', async () => {
    const { db } = api.deps;
    await requestRuns({ db, org: hostile }, connectionId, 5);
    await publishSpec(other);
    const [late] = await requestRuns({ db, org: other }, await createActiveConnection(other), 1);
    const found = await findUndispatchedRuns(db, { olderThanMs: 0, limit: 2 });
    expect(found.map(({ orgId }) => orgId)).toEqual([hostile.orgId, other.orgId]);
    expect(found[1]?.id).toBe(late);
  });
});

describe('a hundred changes of an org at once', () => {
  it('notify an endpoint twice: at once, and again of all that came meanwhile', async () => {
    const { id: endpointId } = await createEndpoint(other);
    await happen(api, other);
    // The one that the creation has begun is over.
    await wakeEndpoints(api.deps, orgScope(other.orgId));
    const woken: string[] = [];
    const wakeEndpoint = async (input: { readonly endpointId: string }) => void woken.push(input.endpointId);
    const deps = { ...api.deps, orchestrator: { ...api.deps.orchestrator, wakeEndpoint } };
    await Promise.all(Array.from({ length: 100 }, () => wakeEndpoints(deps, orgScope(other.orgId))));
    expect(woken).toEqual([endpointId, endpointId]);
  });
});
