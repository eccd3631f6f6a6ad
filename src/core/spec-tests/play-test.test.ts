import { afterAll, describe, expect, it } from 'vitest';
import { createTestEvaluator } from '../expressions/evaluator-fixture.ts';
import { runTest } from './play-test.ts';
import { responding, runWith, specOf } from './spec-tests-fixture.ts';

const evaluator = createTestEvaluator({ size: 1 });
afterAll(() => evaluator[Symbol.asyncDispose]());

const run = runWith(evaluator);

describe('the run of a test', () => {
  it('asks again at once where the real client would wait', async () => {
    const mocks = [
      { request: { path: '/items' }, respond: { status: 503 }, times: 1 },
      { request: { path: '/items' }, respond: { status: 429, headers: { 'Retry-After': '600' } }, times: 1 },
      responding('/items', [{ id: 1 }]),
    ];
    expect(await run({ mocks, expect: { status: 'succeeded', requests: 3 } })).toEqual([]);
  });

  it('gives up after as many attempts as the spec allows', async () => {
    const test = { mocks: [{ request: {}, respond: { status: 503 } }], expect: { status: 'failed', requests: 3 } };
    const http = { baseUrl: 'https://api.test', retry: { maxAttempts: 3 } };
    expect(await run(test, {}, { http })).toEqual([]);
  });

  it('reads smaller pages where the API fails at larger ones', async () => {
    const mocks = [
      { request: { query: { limit: 4 } }, respond: { status: 500 } },
      responding('/items', [{ id: 1 }, { id: 2 }], { query: { limit: 2, offset: 0 } }),
      responding('/items', [{ id: 3 }], { query: { limit: 2, offset: 2 } }),
    ];
    const resource = {
      request: { path: '/items', query: { limit: '{{ page.size }}' } },
      pagination: {
        kind: 'offset',
        size: 4,
        inject: { in: 'query', name: 'offset' },
        shrink: { when: { status: [500] } },
      },
    };
    expect(await run({ mocks, expect: { stats: { recordsOut: 3 }, requests: 3 } }, resource)).toEqual([]);
  });

  it('polls a report job until it is ready, at once where a run would wait', async () => {
    const mocks = [
      { request: { method: 'POST', path: '/jobs' }, respond: { body: { id: 7 } }, times: 1 },
      { request: { path: '/jobs/7' }, respond: { body: { status: 'running' } }, times: 2 },
      { request: { path: '/jobs/7' }, respond: { body: { status: 'done', url: '/files/7' } } },
      responding('/files/7', [{ id: 1 }]),
    ];
    const job = {
      ...{ create: { method: 'POST', path: '/jobs' }, id: 'body.id', poll: { path: '/jobs/{{ job.id }}' } },
      ...{ status: 'body.status', completed: ['done'], failed: ['failed'] },
    };
    const resource = { job, request: { path: '/files/{{ job.id }}' } };
    expect(await run({ mocks, expect: { delivered: [{ id: 1 }], requests: 5 } }, resource)).toEqual([]);
  });

  it('merges the chunks of a list of fields', async () => {
    const mocks = [
      responding('/items', [{ id: 1, a: 'a' }], { query: { fields: 'a' } }),
      responding('/items', [{ id: 1, b: 'b' }], { query: { fields: 'b' } }),
    ];
    const resource = {
      request: { path: '/items', query: { fields: '{{ chunk.fields }}' } },
      fieldChunks: { fields: ['a', 'b'], size: 1, join: ',' },
    };
    expect(await run({ mocks, expect: { delivered: [{ id: 1, a: 'a', b: 'b' }] } }, resource)).toEqual([]);
  });

  it('refreshes refused credentials once', async () => {
    const mocks = [{ request: {}, respond: { status: 401 }, times: 1 }, responding('/items', [])];
    const auth = { kind: 'session', login: { method: 'POST', path: '/login' }, tokenFrom: 'body.token' };
    expect(await run({ mocks, expect: { requests: 2 } }, {}, { auth })).toEqual([]);
  });

  it('has an address where the token says where the API is', async () => {
    const auth = {
      kind: 'oauth2_client_credentials',
      tokenUrl: 'https://login.test/token',
      clientId: 'a',
      clientSecret: 'b',
      tokenResponse: { metadata: { instance: 'instance_url', account: 'account_id' } },
    };
    const granted = {
      ...{
        kind: 'oauth2_authorization_code',
        authorizeUrl: 'https://login.test/a',
        tokenUrl: 'https://login.test/token',
      },
      ...{ clientId: 'a', clientSecret: 'b' },
      ...{ tokenResponse: { metadata: { instance: 'instance_url' } }, callback: { metadata: { account: 'account' } } },
    };
    const http = { baseUrl: '{{ auth.instance }}/data', query: { account: '{{ auth.account }}' } };
    const mocks = [responding('/items', [{ id: 1 }], { query: { account: 'account' } })];
    for (const kind of [auth, granted])
      expect(await run({ mocks, expect: { stats: { recordsOut: 1 } } }, {}, { auth: kind, http })).toEqual([]);
  });

  it('deletes records that it knows: flagged, missing, listed', async () => {
    const known = ['1', '2'];
    const expected = { deleted: ['2'], stats: { deleted: 1 } };
    const flagged = { known, mocks: [responding('/items', [{ id: 1 }, { id: 2, gone: true }])], expect: expected };
    expect(await run(flagged, { deletes: { mode: 'flag', when: 'gone = true' } })).toEqual([]);
    const missing = { known, mocks: [responding('/items', [{ id: 1 }])], expect: expected };
    expect(await run(missing, { deletes: { mode: 'full_scan' } })).toEqual([]);
    const listed = { ...missing, mocks: [...missing.mocks, responding('/gone', [{ id: 2 }, { id: 3 }])] };
    const endpoint = { mode: 'endpoint', request: { path: '/gone' }, records: 'data', key: 'id' };
    expect(await run(listed, { deletes: endpoint })).toEqual([]);
  });

  it('ends partial at its own number of records, in the middle of a page, and claims nothing of its partition', async () => {
    const mocks = [
      responding('/items', [
        { id: 1, at: '2025-01-01' },
        { id: 2, at: '2025-01-02' },
      ]),
    ];
    const resource = { incremental: { kind: 'cursor', cursor: { field: 'at', type: 'date' }, order: 'asc' } };
    const expected = { status: 'partial', stats: { recordsIn: 1 }, delivered: [{ id: 1 }], watermarkAfter: null };
    expect(await run({ mocks, maxRecords: 1, expect: expected }, resource)).toEqual([]);
    const whole = { status: 'succeeded', stats: { recordsIn: 2 } };
    expect(await run({ mocks, maxRecords: 2, expect: whole }, resource)).toEqual([]);
  });

  it('reads of a parent no more than that, live or stored', async () => {
    const mocks = [
      { request: { path: '/groups' }, respond: { body: { data: [{ id: 'a' }, { id: 'b' }], next: 'x' } } },
      responding('/groups/a/items', [{ id: 1 }]),
      responding('/groups/b/items', [{ id: 2 }]),
    ];
    const parent = {
      key: 'groups',
      primaryKey: 'id',
      request: { path: '/groups' },
      response: { records: 'data' },
      pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'after' } },
    };
    const child = {
      key: 'items',
      primaryKey: 'id',
      request: { path: '/groups/{{ each.group.id }}/items' },
      response: { records: 'data' },
    };
    const idsOf = async (from: string) => {
      const forEach = [{ as: 'group', resource: 'groups', from }];
      const test = { mocks, maxRecords: 1, expect: { delivered: [{ id: 1 }], requests: 2 } };
      return await run(test, {}, { resources: [parent, { ...child, forEach }] });
    };
    expect(await idsOf('live')).toEqual([]);
    expect(await idsOf('store')).toEqual([]);
  });

  it('ends partial at the limit of the resource', async () => {
    const mocks = [responding('/items', [{ id: 1 }], { query: { page: 1 } })];
    const resource = {
      pagination: { kind: 'page', stable: true, inject: { in: 'query', name: 'page' } },
      incremental: { kind: 'cursor', cursor: { field: 'id', type: 'integer', missing: 'fail' }, order: 'asc' },
      limits: { maxRecords: 1 },
    };
    expect(await run({ mocks, expect: { status: 'partial', requests: 1 } }, resource)).toEqual([]);
  });

  it('reads the stored parents of a resource from the same mocks', async () => {
    const notes = {
      key: 'notes',
      primaryKey: 'id',
      forEach: [{ as: 'item', resource: 'items', from: 'store', when: 'notes > 0' }],
      request: { path: '/items/{{ each.item.id }}/notes' },
      response: { records: 'data' },
    };
    const [items] = specOf({}).resources;
    const mocks = [
      responding('/items', [
        { id: 1, notes: 0 },
        { id: 2, notes: 3 },
      ]),
      responding('/items/2/notes', [{ id: 'n1' }]),
    ];
    const test = { name: 'a test', resource: 'notes', mocks, expect: { delivered: [{ id: 'n1' }], requests: 2 } };
    const resources = [{ key: 'items', primaryKey: 'id', request: { path: '/items' }, response: items?.response }];
    expect(await run({}, {}, { resources: [...resources, notes], tests: [test] })).toEqual([]);
  });

  it('reads groups of parents of several lists', async () => {
    const places = { key: 'places', primaryKey: 'id', request: { path: '/places' }, response: { records: 'data' } };
    const items = {
      key: 'items',
      primaryKey: 'id',
      forEach: [
        {
          as: 'places',
          union: [{ resource: 'places', value: 'id' }, { values: '{{ [7] }}' }],
          group: { size: 2, join: '|' },
        },
      ],
      request: { path: '/items', query: { of: '{{ each.places }}' } },
      response: { records: 'data' },
    };
    const mocks = [
      responding('/places', [{ id: 7 }, { id: 8 }]),
      responding('/items', [{ id: 1 }], { query: { of: '7|8' } }),
      responding('/items', [{ id: 2 }], { query: { of: '7' } }),
    ];
    const test = { name: 'a test', resource: 'items', mocks, expect: { delivered: [{ id: 1 }, { id: 2 }] } };
    expect(await run({}, {}, { resources: [places, items], tests: [test] })).toEqual([]);
  });

  it('loads lookups and enriches records', async () => {
    const mocks = [
      responding('/users', [{ id: 'u1', email: 'a@b.test' }]),
      responding('/items', [
        { id: 1, owner: 'u1', plan: 'p' },
        { id: 2, owner: 'u2', plan: 'p' },
      ]),
      { request: { path: '/plans/p' }, respond: { body: { name: 'Pro' } } },
    ];
    const spec = {
      lookups: [
        {
          assignTo: 'users',
          kind: 'request',
          request: { path: '/users' },
          records: 'data',
          keyBy: 'id',
          value: 'email',
        },
      ],
    };
    const resource = {
      enrich: [{ assignTo: 'plan', request: { path: '/plans/{{ key }}' }, key: 'record.plan' }],
      transform: '{ "id": id, "owner": $lookup($lookups.users, owner), "plan": $lookups.plan.name }',
    };
    const delivered = [
      { id: 1, owner: 'a@b.test', plan: 'Pro' },
      { id: 2, plan: 'Pro' },
    ];
    const requests = [{ path: '/users' }, { path: '/items' }, { path: '/plans/p' }];
    expect(await run({ mocks, expect: { delivered, requests } }, resource, spec)).toEqual([]);
  });

  it('quarantines a record whose transform does not end', async () => {
    const test = { mocks: [responding('/items', [{ id: 1 }])], expect: { quarantined: ['1'] } };
    const transform = '( $forever := function($n) { $forever($n + 1) }; { "id": $forever(id) } )';
    expect(await run(test, { transform, onInvalid: 'quarantine' })).toEqual([]);
  });
});

describe('a mock that no request used', () => {
  const unused = responding('/other', [], { method: 'GET' });
  const verdictOf = async (test: Parameters<typeof specOf>[0]) => {
    const spec = specOf(test);
    const [only] = spec.tests;
    if (!only) throw new Error('the spec has one test');
    return await runTest(spec, only, { evaluator, signal: new AbortController().signal });
  };

  it('is named by a test that passes, and does not fail it', async () => {
    const mocks = [unused, responding('/items', [{ id: 1 }]), responding('/items', [{ id: 2 }])];
    expect(await verdictOf({ mocks, expect: { delivered: [{ id: 1 }] } })).toEqual({
      mismatches: [],
      unusedMocks: [0, 2],
    });
  });

  it('is not named by a test that fails, which may have ended before its request', async () => {
    const mocks = [unused, responding('/items', [{ id: 1 }])];
    expect(await verdictOf({ mocks, expect: { requests: 2 } })).toMatchObject({
      mismatches: [{ at: 'expect.requests' }],
      unusedMocks: [],
    });
  });
});
