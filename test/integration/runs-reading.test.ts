import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertCalls } from '../../db/queries/runs/calls.ts';
import { orgScope } from '../../db/scope.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { newCall } from '../support/service/calls.ts';
import { runIsUntaken } from '../support/service/untaken-run.ts';
import { fillOrg, type Inventory } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
let things: Inventory;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  things = await fillOrg(api, org);
});
afterAll(() => api[Symbol.asyncDispose]());

const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);

describe('GET /runs', () => {
  it('lists newest first, and only what every filter lets through', async () => {
    const replayed = await org.call('POST', `/runs/${things.runId}/replay`);
    expect(replayed).toMatchObject({
      status: 202,
      body: { trigger: 'manual', status: 'queued', resourceKey: 'items' },
    });
    expect(ids((await org.call('GET', '/runs')).body)).toEqual([replayed.body.id, things.runId]);
    for (const filter of ['status=running', 'trigger=schedule', 'resource=other', 'since=2999-01-01T00:00:00Z']) {
      expect((await org.call('GET', `/runs?${filter}`)).body).toEqual([]);
    }
    const all = `connectionId=${things.activeConnectionId}&status=queued&since=2020-01-01T00:00:00Z`;
    expect((await org.call('GET', `/runs?${all}`)).headers.get('x-total-count')).toBe('2');
    const newest = await org.call('GET', '/runs?limit=1');
    expect({ ids: ids(newest.body), total: newest.headers.get('x-total-count') }).toEqual({
      ids: [replayed.body.id],
      total: '1',
    });
  });

  it.each([
    'status=bogus',
    'trigger=bogus',
    'since=yesterday',
    'since=2026-02-31T00:00:00Z',
    'resource=%00',
    'limit=0',
    'status=failed&status=partial',
  ])('responds with 400 and names the parameter for %s', async (filter) => {
    const { status, body } = await org.call('GET', `/runs?${filter}`);
    expect({ status, code: body.error.code }).toEqual({ status: 400, code: 'validation' });
    expect(body.error.issues).toMatchObject([{ code: 'schema', path: filter.split('=')[0] }]);
    expect(JSON.stringify(body)).not.toContain('yesterday');
  });
});

describe('POST /runs/:id/cancel', () => {
  it('cancels a run that nobody has taken yet; a second time it is a conflict', async () => {
    const { body: run } = await org.call('POST', `/runs/${things.runId}/replay`);
    await runIsUntaken(api.deps.db, run.id);
    expect(await org.call('POST', `/runs/${run.id}/cancel`)).toMatchObject({
      status: 202,
      body: { status: 'canceled' },
    });
    expect(await org.call('POST', `/runs/${run.id}/cancel`)).toMatchObject({ status: 409 });
  });
});

describe('GET /runs/:id/calls', () => {
  it('lists the calls in order, beyond a thousand too', async () => {
    const { runId } = things;
    const calls = Array.from({ length: 1500 }, (_call, index) => newCall({ runId, sequence: index + 1 }));
    await insertCalls(api.deps.db, orgScope(org.orgId), calls);
    const { body, headers } = await org.call('GET', `/runs/${things.runId}/calls`);
    expect(headers.get('x-total-count')).toBe('1500');
    expect(body.map(({ sequence }: { sequence: number }) => sequence)).toEqual(calls.map(({ sequence }) => sequence));
  });
});

describe('GET /quarantine', () => {
  it('lists the records of a connection, each readable alone', async () => {
    const { body } = await org.call('GET', `/quarantine?connectionId=${things.activeConnectionId}`);
    expect(body).toMatchObject([{ id: things.quarantineId, rawJson: { id: 7 }, resolvedAt: null }]);
    expect((await org.call('GET', `/quarantine/${things.quarantineId}`)).body).toEqual(body[0]);
    expect((await org.call('GET', `/quarantine?connectionId=${things.connectionId}`)).body).toEqual([]);
  });

  it('responds with 400 without a code when the connection is not named', async () => {
    const { status, body } = await org.call('GET', '/quarantine');
    expect(status).toBe(400);
    expect(body.error).toEqual({ message: 'The query parameter connectionId is required.' });
  });
});
