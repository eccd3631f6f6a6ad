import { afterAll, describe, expect, test } from 'vitest';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { imported, mock, refusalOf, resourceOf, runImported, streamOf } from './airbyte-fixture.ts';

const evaluator = createTestEvaluator();
const run = runImported(evaluator);
afterAll(() => evaluator[Symbol.asyncDispose]());

type Part = Readonly<Record<string, unknown>>;

const requester = (path: string, more: Part = {}): Part => ({
  type: 'HttpRequester',
  url_base: 'https://api.test/v1',
  path,
  ...more,
});

const dpath = (...names: readonly string[]): Part => ({ type: 'DpathExtractor', field_path: names });

/** A stream `items` of a report, with parts of its retriever replaced. */
const report = (retriever: Part = {}, stream: Part = {}): Part =>
  streamOf({
    stream,
    retriever: {
      type: 'AsyncRetriever',
      requester: null,
      status_mapping: { running: ['RUNNING'], completed: ['DONE'], failed: ['FAILED'], timeout: ['LATE'] },
      status_extractor: dpath('state', 'name'),
      creation_requester: requester('/reports', {
        http_method: 'POST',
        request_body_json: { kind: 'all' },
      }),
      polling_requester: requester("/reports/{{ creation_response['id'] }}"),
      download_target_extractor: dpath('url'),
      download_requester: { type: 'HttpRequester', url_base: '{{ download_target }}' },
      ...retriever,
    },
  });

const created = mock('/v1/reports', { id: 7 }, { method: 'POST' });
const state = (name: string, more: Part = {}) => mock('/v1/reports/7', { state: { name }, ...more });

describe('a report of an imported stream', () => {
  test('is created, polled and read from the address that its state names', async () => {
    const result = imported([report({ polling_job_timeout: 5 })]);
    expect(resourceOf(result)['job']).toMatchObject({
      id: 'body.id',
      status: 'body.state.name',
      completed: ['DONE'],
      failed: ['FAILED', 'LATE'],
      timeoutSeconds: 300,
    });
    const issues = await run(result, {
      mocks: [
        created,
        { ...state('RUNNING'), times: 1 },
        state('DONE', { url: 'https://api.test/files/1' }),
        mock('/files/1', [{ id: 1 }, { id: 2 }]),
      ],
      expect: { delivered: [{ id: 1 }, { id: 2 }], requests: 4 },
    });
    expect(issues).toEqual([]);
  });

  test('without an address has no records', async () => {
    const issues = await run(imported([report()]), {
      mocks: [created, state('DONE', { url: null })],
      expect: { delivered: [], requests: 2 },
    });
    expect(issues).toEqual([]);
  });

  test('is read from each of its addresses', async () => {
    const addresses = ['https://api.test/files/1', 'https://api.test/files/2'];
    const issues = await run(imported([report()]), {
      mocks: [
        created,
        state('DONE', { url: addresses }),
        mock('/files/1', [{ id: 1 }]),
        mock('/files/2', [{ id: 2 }, { id: 3 }]),
      ],
      expect: { delivered: [{ id: 1 }, { id: 2 }, { id: 3 }], requests: 4 },
    });
    expect(issues).toEqual([]);
  });

  test('is read from the addresses that earlier CDKs had in the slice', async () => {
    const stream = report({
      download_target_extractor: null,
      urls_extractor: dpath('urls'),
      polling_requester: requester("/reports/{{ stream_slice['create_job_response'].json()['id'] }}"),
      download_requester: { type: 'HttpRequester', url_base: '', path: "{{stream_slice['url']}}" },
    });
    const issues = await run(imported([stream]), {
      mocks: [
        created,
        state('DONE', { urls: ['https://api.test/files/1', 'https://api.test/files/2'] }),
        mock('/files/1', [{ id: 1 }]),
        mock('/files/2', [{ id: 2 }]),
      ],
      expect: { delivered: [{ id: 1 }, { id: 2 }] },
    });
    expect(issues).toEqual([]);
  });

  test('has no records with a status that the manifest skips', async () => {
    const mapping = { running: [], completed: ['DONE'], failed: ['FAILED'], timeout: [], skipped: ['NO_DATA'] };
    const issues = await run(imported([report({ status_mapping: mapping })]), {
      mocks: [created, state('NO_DATA', { url: 'https://api.test/files/1' })],
      expect: { delivered: [], requests: 2 },
    });
    expect(issues).toEqual([]);
  });

  test('is read by values of its last state, by an extractor and in pages of its own', async () => {
    const stream = report({
      download_target_extractor: null,
      download_requester: requester("/files/{{ polling_response['file']['id'] }}", {
        request_parameters: { job: "'{{ creation_response['id'] }}'" },
      }),
      download_extractor: dpath('rows'),
      download_paginator: {
        type: 'DefaultPaginator',
        pagination_strategy: { type: 'CursorPagination', cursor_value: "{{ response.get('next') }}" },
        page_token_option: { type: 'RequestOption', inject_into: 'request_parameter', field_name: 'after' },
      },
    });
    const issues = await run(imported([stream]), {
      mocks: [
        created,
        state('DONE', { file: { id: 'f' } }),
        mock('/v1/files/f', { rows: [{ id: 2 }] }, { query: { after: 'x', job: '7' } }),
        mock('/v1/files/f', { rows: [{ id: 1 }], next: 'x' }, { query: { job: '7' } }),
      ],
      expect: { delivered: [{ id: 1 }, { id: 2 }] },
    });
    expect(issues).toEqual([]);
  });

  test('of a CSV file has null where the CDK reads none', async () => {
    const stream = report({ download_extractor: { type: 'ResponseToFileExtractor' } });
    const issues = await run(imported([stream]), {
      mocks: [
        created,
        state('DONE', { url: 'https://api.test/files/1' }),
        {
          request: { path: '/files/1' },
          respond: { headers: { 'content-type': 'text/csv' }, body: 'id,a,b,c\n1,,NA,text\n' },
        },
      ],
      expect: { delivered: [{ id: '1', a: null, b: null, c: 'text' }] },
    });
    expect(issues).toEqual([]);
  });

  test('has the window of its cursor in the request that creates it', () => {
    const stream = report(
      {
        creation_requester: requester('/reports', {
          http_method: 'POST',
          request_body_json: { from: "{{ stream_interval['start_time'] }}", to: "{{ stream_interval['end_time'] }}" },
        }),
      },
      {
        incremental_sync: {
          type: 'DatetimeBasedCursor',
          cursor_field: 'day',
          datetime_format: '%Y-%m-%d',
          start_datetime: '2024-01-01',
          cursor_granularity: 'P1D',
          step: 'P10D',
        },
      },
    );
    const resource = resourceOf(imported([stream]));
    expect(resource['incremental']).toMatchObject({ cursor: { field: 'day' }, window: { size: 'P10D' } });
    expect(JSON.stringify(resource['job'])).toContain('window.from');
  });

  test('has for its creation, its state and its file the error rules of each', async () => {
    const handler = (...filters: readonly Part[]): Part => ({
      error_handler: {
        type: 'DefaultErrorHandler',
        response_filters: filters.map((filter) => ({ type: 'HttpResponseFilter', ...filter })),
      },
    });
    const stream = report({
      creation_requester: requester('/reports', {
        http_method: 'POST',
        ...handler(
          { action: 'FAIL', predicate: "{{ 'too old' in response.details }}", error_message: 'too old' },
          { action: 'IGNORE', http_codes: [404] },
        ),
      }),
      polling_requester: requester("/reports/{{ creation_response['id'] }}", {
        ...handler({ action: 'RETRY', http_codes: [401] }),
      }),
    });
    const result = imported([stream]);
    const resource = resourceOf(result);
    expect(resource).not.toHaveProperty('errors');
    expect(resource['job']).toMatchObject({
      createErrors: [{ action: 'fail', message: 'too old' }],
      pollErrors: [{ when: { status: [401] }, action: 'retry' }],
    });
    const mocks = [mock('/v1/reports', { id: 7, details: 'it is too old' }, { method: 'POST' })];
    expect((await run(result, { mocks, expect: { delivered: [] } })).join()).toContain('too old');
  });

  test('has in the request for its state a header of the one that created it', async () => {
    const scope = "{{ stream_slice.extra_fields['creation_response'].request.headers['x-scope'] }}";
    const stream = report(
      {
        partition_router: { type: 'ListPartitionRouter', values: ['1', '2'], cursor_field: 'scope' },
        creation_requester: requester('/reports', {
          http_method: 'POST',
          request_headers: { 'X-Scope': "{{ stream_partition['scope'] }}", 'X-Fixed': 'a' },
        }),
        polling_requester: requester("/reports/{{ creation_response['id'] }}", {
          request_headers: { 'X-Scope': scope, 'X-Other': "{{ creation_response.request.headers['X-Fixed'] }}" },
        }),
      },
      {},
    );
    const files = ['1', '2'].flatMap((partition) => [
      mock('/v1/reports', { id: 7 }, { method: 'POST', headers: { 'x-scope': partition } }),
      mock(
        '/v1/reports/7',
        { state: { name: 'DONE' }, url: `https://api.test/files/${partition}` },
        { headers: { 'x-scope': partition, 'x-other': 'a' } },
      ),
      mock(`/files/${partition}`, [{ id: Number(partition) }]),
    ]);
    const issues = await run(imported([stream]), { mocks: files, expect: { delivered: [{ id: 1 }, { id: 2 }] } });
    expect(issues).toEqual([]);
  });

  test('sends credentials to the API, and none to the store of files', () => {
    const authenticator = { type: 'BearerAuthenticator', api_token: "{{ config['api_key'] }}" };
    const stream = report({
      creation_requester: requester('/reports', { http_method: 'POST', authenticator }),
      polling_requester: requester("/reports/{{ creation_response['id'] }}", { authenticator }),
    });
    const result = imported([stream]);
    expect(result.spec['auth']).toMatchObject({ kind: 'bearer' });
    expect(resourceOf(result)['job']).toMatchObject({ signRequest: false });
  });
});

describe('a report is refused', () => {
  test.each<[string, Part, string, string]>([
    [
      'with a request for the address of its file',
      { download_target_requester: requester('/target') },
      'download_target_requester',
      'has no counterpart',
    ],
    [
      'with several values of its creation',
      { polling_requester: requester("/{{ creation_response['a'] }}/{{ creation_response['b'] }}") },
      '',
      'several values',
    ],
    [
      'with other credentials for its state',
      {
        polling_requester: requester("/reports/{{ creation_response['id'] }}", {
          authenticator: { type: 'BearerAuthenticator', api_token: "{{ config['api_key'] }}" },
        }),
      },
      'polling_requester',
      'credentials',
    ],
    [
      'with a header of the creation that it does not send',
      {
        polling_requester: requester("/reports/{{ creation_response['id'] }}", {
          request_headers: { 'X-Scope': "{{ creation_response.request.headers['X-Scope'] }}" },
        }),
      },
      '',
      'has no header X-Scope',
    ],
    ['with no status that fails', { status_mapping: { completed: ['DONE'] } }, 'status_mapping', 'has failed'],
  ])('%s', (_name, retriever, path, reason) => {
    const [at, why] = refusalOf(imported([report(retriever)]));
    expect(at).toBe(['streams.0.retriever', path].filter((part) => part !== '').join('.'));
    expect(why).toContain(reason);
  });
});
