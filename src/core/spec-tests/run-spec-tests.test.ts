import { afterAll, describe, expect, it } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../expressions/evaluator-fixture.ts';
import { runSpecTests } from './run-spec-tests.ts';
import { responding, runWith, specOf, wordsOf } from './spec-tests-fixture.ts';

const evaluator = createTestEvaluator({ size: 1 });
afterAll(() => evaluator[Symbol.asyncDispose]());

const run = runWith(evaluator);

/** The example of the format: two pages, one bad record. */
const twoPages = {
  params: { subdomain: 't', clientId: 'c' },
  mocks: [
    {
      request: { path: '/projects/main/accounts', query: { cursor: null, limit: 100 } },
      respond: {
        body: { data: { items: [{ id: 'a1', name: 'A', updated_at: '2025-12-01T00:00:00Z' }] }, next_cursor: 'p2' },
      },
    },
    {
      request: { path: '/projects/main/accounts', query: { cursor: 'p2' } },
      respond: { body: { data: { items: [{ id: 'a2', updated_at: '2025-12-02T00:00:00Z' }] }, next_cursor: null } },
    },
  ],
};

const passing = {
  status: 'partial',
  stats: { recordsIn: 2, recordsOut: 1, skipped: 0, deleted: 0, quarantined: 1 },
  watermarkAfter: '2025-12-02T00:00:00.000Z',
  delivered: [{ id: 'a1', name: 'A' }],
  deleted: [],
  quarantined: ['a2'],
  requests: 2,
};

const accounts = {
  key: 'items',
  forEach: [{ as: 'project', values: '{{ params.projects }}' }],
  request: {
    path: '/projects/{{ each.project }}/accounts',
    query: { limit: '{{ page.size }}', updated_since: '{{ window.from }}' },
  },
  response: { records: 'data.items', addFields: { project: 'each.project' } },
  pagination: { kind: 'cursor', next: 'body.next_cursor', size: 100, inject: { in: 'query', name: 'cursor' } },
  incremental: {
    kind: 'cursor',
    cursor: { field: 'updated_at', type: 'datetime' },
    initial: '2020-01-01',
    order: 'asc',
  },
  transform: '{ "id": id, "project": project, "name": name, "updated_at": updated_at }',
  validate: { schema: { type: 'object', required: ['id', 'name'] } },
  onInvalid: 'quarantine',
};

const acme = {
  connectionParams: [
    { key: 'subdomain', type: 'string', format: 'subdomain' },
    { key: 'projects', type: 'string_list', required: false, default: ['main'] },
    { key: 'clientId', type: 'string' },
    { key: 'clientSecret', type: 'string', secret: true, minLength: 16 },
  ],
  auth: {
    kind: 'oauth2_client_credentials',
    tokenUrl: 'https://{{ params.subdomain }}.acme.test/token',
    clientId: '{{ params.clientId }}',
    clientSecret: '{{ secrets.clientSecret }}',
  },
  http: { baseUrl: 'https://{{ params.subdomain }}.acme.test/api/v2' },
};

const runExample = async (changes: Readonly<Record<string, unknown>>) =>
  await run({ ...twoPages, ...changes }, accounts, acme);

describe('a test in a spec', () => {
  it('passes when the run has the expected results', async () => {
    expect(await runExample({ expect: passing })).toEqual([]);
  });

  it.each([
    [{ status: 'succeeded' }, 'tests.0.expect.status: expected "succeeded", got "partial"'],
    [{ status: 'failed' }, 'tests.0.expect.status: expected "failed", got "partial"'],
    [{ stats: { recordsIn: 2, recordsOut: 2 } }, 'tests.0.expect.stats.recordsOut: expected 2, got 1'],
    [
      { watermarkAfter: '2025-12-03T00:00:00Z' },
      'tests.0.expect.watermarkAfter: expected "2025-12-03T00:00:00.000Z", got "2025-12-02T00:00:00.000Z"',
    ],
    [{ watermarkAfter: null }, 'tests.0.expect.watermarkAfter: expected null, got "2025-12-02T00:00:00.000Z"'],
    [{ delivered: [{ id: 'a1' }, { id: 'a2' }] }, 'tests.0.expect.delivered: expected 2 rows, got 1 row'],
    [
      { delivered: [{ id: 'a1', name: 'B' }] },
      'tests.0.expect.delivered: row 1: expected {"id":"a1","name":"B"}, got ' +
        '{"id":"a1","project":"main","name":"A","updated_at":"2025-12-01T00:00:00Z"}',
    ],
    [{ deleted: ['a1'] }, 'tests.0.expect.deleted: expected ["a1"], got []'],
    [{ quarantined: ['a1'] }, 'tests.0.expect.quarantined: expected ["a1"], got ["a2"]'],
    [{ requests: 3 }, 'tests.0.expect.requests: expected 3, got 2'],
    [{ requests: [{}, {}, {}] }, 'tests.0.expect.requests: expected 3 requests, got 2 requests'],
    [
      { requests: [{ query: { updated_since: '2020-01-01' } }, {}] },
      'tests.0.expect.requests: request 1: expected {"query":{"updated_since":"2020-01-01"}}, got {"method":"GET",' +
        '"path":"/api/v2/projects/main/accounts?limit=100&updated_since=2020-01-01T00%3A00%3A00.000Z"}',
    ],
  ])('names the expectation that does not hold: %j', async (change, issue) => {
    expect(await runExample({ expect: { ...passing, ...change } })).toEqual([issue]);
  });

  it('has one issue for each expectation that does not hold', async () => {
    const issues = await runExample({ expect: { status: 'succeeded', quarantined: [], requests: 1 } });
    expect(issues.map((issue) => issue.split(':')[0])).toEqual([
      'tests.0.expect.status',
      'tests.0.expect.quarantined',
      'tests.0.expect.requests',
    ]);
  });

  it('reports a failure that it does not expect, and nothing that follows from it', async () => {
    const mocks = [{ request: {}, respond: { status: 403 } }];
    expect(await runExample({ mocks, expect: passing })).toEqual([
      'tests.0.expect.status: the run failed: GET /api/v2/projects/main/accounts responded with 403: ' +
        'the credentials lack the permission; grant it at the source.',
    ]);
  });

  it('may expect a failure and the results of the run before it', async () => {
    const mocks = [twoPages.mocks[0], { request: {}, respond: { status: 403 } }];
    const before = { stats: { recordsIn: 1, recordsOut: 1 }, watermarkAfter: '2025-12-01T00:00:00Z', requests: 2 };
    expect(await runExample({ mocks, expect: { status: 'failed', ...before } })).toEqual([]);
  });

  it('says for which request a mock is missing, even where a failure is expected', async () => {
    const mocks = twoPages.mocks.slice(0, 1);
    for (const status of ['partial', 'failed']) {
      expect(await runExample({ mocks, expect: { status } })).toEqual([
        'tests.0.mocks.0: no mock matches GET /api/v2/projects/main/accounts: mocks.0 wants query.cursor null, ' +
          'the request has "p2". Correct it, or add one',
      ]);
    }
  });

  it('gives its values as a connection does', async () => {
    const params = { subdomain: 'not a label', stray: 1 };
    expect(await runExample({ params, secrets: { clientSecret: 'short' } })).toEqual([
      'tests.0.params.subdomain: expected one label of a host name, such as acme',
      'tests.0.params.clientId: is required',
      'tests.0.secrets.clientSecret: expected at least 16 characters',
      'tests.0.params.stray: the spec declares no such value',
    ]);
  });

  it('starts every partition at its watermark, and ends at the lowest', async () => {
    const page = (project: string, day: string) => ({
      request: { path: `/projects/${project}/accounts`, query: { updated_since: '2025-11-30T00:00:00.000Z' } },
      respond: { body: { data: { items: [{ id: project, name: 'n', updated_at: `2025-12-${day}T00:00:00Z` }] } } },
    });
    const test = {
      params: { ...twoPages.params, projects: ['x', 'y'] },
      watermark: '2025-11-30',
      mocks: [page('x', '09'), page('y', '05')],
      expect: { status: 'succeeded', watermarkAfter: '2025-12-05T00:00:00Z', stats: { recordsOut: 2 } },
    };
    expect(await runExample(test)).toEqual([]);
  });

  it('refuses a watermark that its resource could not have', async () => {
    expect(await runExample({ watermark: 'yesterday' })).toEqual([
      'tests.0.watermark: is not a value of the cursor of its resource',
    ]);
  });

  it('does not let a watermark pass its clock, less the time that the API needs to settle', async () => {
    const expected = { ...passing, watermarkAfter: '2025-12-01T11:59:30.000Z' };
    expect(await runExample({ now: '2025-12-01T12:00:00Z', expect: expected })).toEqual([]);
  });
});

describe('the time of tests', () => {
  const hung = Promise.withResolvers<never>().promise;
  const hanging: TestEvaluator = { ...evaluator, transform: () => hung, evaluate: () => hung };
  const withFilter = (tests: number) => {
    const test = { name: 'a test', resource: 'items', mocks: [responding('/items', [{ id: 1 }])], expect: {} };
    return specOf({}, { filter: '$exists(id)' }, { tests: Array.from({ length: tests }, () => test) });
  };

  it('ends a test that hangs', async () => {
    expect(wordsOf(await runSpecTests(withFilter(1), { evaluator: hanging, testMsMax: 20 }))).toEqual([
      'tests.0: did not end within 0.02 s',
    ]);
  });

  it('ends a test that reads for ever', async () => {
    const resource = { pagination: { kind: 'page', inject: { in: 'query', name: 'page' }, emptyPage: 'continue' } };
    const spec = specOf({ mocks: [responding('/items', [])] }, resource);
    expect(wordsOf(await runSpecTests(spec, { evaluator, testMsMax: 20 }))).toEqual([
      'tests.0: did not end within 0.02 s',
    ]);
  });

  it('does not begin a test that could end too late', async () => {
    const options = { evaluator: hanging, testMsMax: 20, allMsMax: 30 };
    expect(wordsOf(await runSpecTests(withFilter(3), options))).toEqual([
      'tests.0: did not end within 0.02 s',
      'tests.1: did not run: the limit of 0.03 s for all tests of a spec was reached',
      'tests.2: did not run: the limit of 0.03 s for all tests of a spec was reached',
    ]);
  });

  it('cuts a message that is too long', async () => {
    const name = 'n'.repeat(200);
    const mocks = [responding('/items', [{ id: 1, text: 'x'.repeat(1000) }])];
    const spec = specOf({ name, mocks, expect: { delivered: [{ text: 'y'.repeat(1000) }] } });
    const [issue] = await runSpecTests(spec, { evaluator });
    expect(issue?.message.length).toBeLessThanOrEqual(500);
    expect(issue?.message).toContain('got {"id":1,"text":"xxx');
  });
});
