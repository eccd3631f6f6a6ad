import { type Addresses, type BaseDocument, type Json, param, simple, spec, text, unlimited } from './base-document.ts';

/** Specs with everything that a run reads. */
export function engineDocuments(at: Addresses): readonly BaseDocument[] {
  const engine = (
    name: string,
    resource: Json,
    parts: Json = {},
    values: Partial<BaseDocument> = {},
  ): BaseDocument => ({
    name,
    document: spec(name, at, { resources: [simple('items', resource), simple('parents')], ...parts }),
    params: {},
    secrets: { databaseUrl: at.database.href },
    ends: 'succeeded',
    changed: ['resources'],
    ...values,
  });
  const paging = (kind: string, pagination: Json): BaseDocument =>
    engine(
      `paged-${kind}`,
      {
        request: { path: '/items', query: { limit: '{{ page.size }}' } },
        pagination: { kind, stopWhen: '$count(body.data) = 1', ...pagination },
      },
      {},
      {
        changed: ['resources.0.pagination'],
      },
    );
  const inject = { in: 'query', name: 'at' };
  return [
    engine(
      'whole',
      {
        name: 'Items',
        description: 'All items',
        dependsOn: ['parents'],
        forEach: [
          { as: 'region', values: '{{ ["eu", params.region] }}' },
          { as: 'parent', resource: 'parents', from: 'live', when: 'id != "9"' },
        ],
        request: {
          path: '/items/{{ each.region }}/{{ params.path }}/{{ each.parent.id }}',
          query: { since: '{{ params.list }}', deep: { at: ['x', '{{ run.id }}'] } },
          headers: { 'X-Own': 'own {{ params.header }}' },
          rateLimit: { requests: 100_000, headers: { remaining: 'x-left', reset: 'x-reset' } },
        },
        response: {
          records: 'data',
          map: '$',
          addFields: { added: 'params.region' },
          successWhen: 'body.total = 1',
          total: 'body.total',
        },
        errors: [
          {
            when: { status: [404, '5xx'], expr: 'body.code = "gone"' },
            action: 'retry',
            waitFrom: { header: 'Retry-After', format: 'seconds' },
            message: 'The item is gone',
          },
        ],
        filter: 'id != "8"',
        changeDetection: { mode: 'field', field: 'version', ignore: ['name'], lookups: ['codes'] },
        enrich: [
          {
            assignTo: 'detail',
            request: { url: `${at.api}/details?keys={{ $join(batch.keys, ",") }}` },
            key: 'record.id',
            when: 'record.id != "7"',
            successWhen: 'body.total = 1',
            batch: { size: 10, results: 'data', keyBy: 'id' },
            select: 'name',
          },
          { assignTo: 'more', request: { path: '/more/{{ record.id }}' }, dependsOn: ['detail'] },
        ],
        transform: '{ "id": id, "name": name, "detail": $lookups.detail, "region": $lookups.codes.k }',
        validate: { schema: text },
        deletes: { mode: 'flag', when: 'deleted' },
        target: { table: 'whole', schema: 'public', columns: { label: { type: 'text', path: 'name' } } },
      },
      {
        connectionParams: [
          param('databaseUrl', { secret: true }),
          param('region', { label: 'Region', description: 'Where', enum: ['eu', 'us'], default: 'eu' }),
          param('path', { pattern: '^[a-z ]*' }),
          param('header', { required: false }),
          param('list', { type: 'string_list', required: false }),
          param('object', { type: 'json', required: false }),
          param('address', { type: 'url' }),
          param('day', { format: 'date', required: false }),
          param('host', { format: 'hostname', required: false }),
        ],
        http: {
          ...unlimited,
          baseUrl: '{{ params.address }}',
          headers: { 'X-Shared': 'shared' },
          query: { shared: 'yes' },
          allowedHosts: ['*.example.com'],
          errors: [{ when: { expr: 'body.failed' }, action: 'fail', message: 'Failed' }],
        },
        lookups: [
          { kind: 'static', assignTo: 'fixed', table: { k: 'v' } },
          {
            kind: 'request',
            assignTo: 'codes',
            request: { path: '/codes' },
            records: 'data',
            successWhen: 'body.total = 1',
            keyBy: 'key',
            value: 'name',
            dependsOn: ['fixed'],
          },
        ],
      },
      {
        params: {
          region: 'us',
          path: 'p',
          header: 'h',
          list: ['a', 'b'],
          object: { a: 'b' },
          address: at.api,
          day: '2026-01-01',
          host: 'api.example.com',
        },
        changed: [''],
      },
    ),
    engine(
      'tests',
      {},
      {
        tests: [
          {
            name: 'reads',
            resource: 'items',
            params: { region: 'eu' },
            secrets: { databaseUrl: 'x' },
            watermark: '2026-01-01T00:00:00Z',
            known: ['1'],
            now: '2026-01-01T00:00:00Z',
            mocks: [
              {
                request: {
                  method: 'POST',
                  path: '/items',
                  query: { a: 'b' },
                  headers: { 'X-A': 'b' },
                  body: { a: 'b' },
                },
                respond: { headers: { 'x-a': 'b' }, body: { data: ['x'] } },
              },
            ],
            expect: { watermarkAfter: '2026', delivered: [{ id: '1' }], deleted: ['2'], quarantined: ['3'] },
          },
        ],
        connectionParams: [param('databaseUrl', { secret: true }), param('region', { required: false })],
      },
      { ends: 'refused', changed: ['tests'] },
    ),
    engine('cursor', {
      incremental: {
        kind: 'cursor',
        cursor: { field: 'updated_at', type: 'datetime', timezone: 'Europe/Berlin', format: "yyyy-MM-dd'T'HH:mm:ssX" },
        initial: 'now-P1D',
        order: 'asc',
        settle: 'PT1S',
        lookback: 'PT1S',
        window: { size: 'P1D', overlap: 'PT1S' },
        retention: { maxAge: 'P30D' },
      },
      request: { path: '/cursor', query: { from: '{{ window.from }}', to: '{{ window.to }}' } },
    }),
    engine('token', {
      incremental: { kind: 'token', next: 'body.account', initial: 'first', expired: { expr: 'body.expired' } },
      request: { path: '/token', query: { token: '{{ watermark }}' } },
    }),
    engine('endpoint', {
      deletes: {
        mode: 'endpoint',
        request: { path: '/deleted' },
        key: 'key',
        at: "'2025-01-01T00:00:00Z'",
        records: 'data',
        stopWhen: 'true',
      },
    }),
    engine('chunks', {
      request: { path: '/items', query: { fields: '{{ chunk.fields }}' } },
      fieldChunks: { fields: ['name', 'key'], always: ['id'], size: 1, join: ',', mergeBy: ['id'] },
    }),
    engine('report', {
      job: {
        create: { method: 'POST', path: '/jobs' },
        id: 'body.total',
        poll: { path: '/jobs/{{ job.id }}' },
        status: 'body.account',
        completed: ['a'],
        failed: ['b'],
        emptyWhen: 'body.total = 0',
        parts: 'body.token',
        values: { file: 'body.token' },
        intervalSeconds: 1,
        timeoutSeconds: 1,
      },
      request: { path: '/items/{{ job.id }}/{{ job.file }}/{{ job.part }}' },
    }),
    engine('groups', {
      forEach: [
        {
          as: 'of',
          union: [{ resource: 'parents', when: 'id != "9"', value: 'id' }, { values: '{{ ["a", "b"] }}' }],
          group: { size: 2, join: ',' },
        },
        { as: 'parent', resource: 'parents', value: 'id' },
      ],
      request: { path: '/items', query: { of: '{{ each.of }}' } },
    }),
    ...Object.entries({
      json: { json: { a: '{{ params.region }}', b: ['c'] } },
      form: { form: { a: 'b' } },
      text: { text: 'text {{ run.id }}' },
      graphql: { graphql: { query: 'query { items }', variables: { a: 'b' } } },
    }).map(([kind, body]) =>
      engine(
        `body-${kind}`,
        { request: { method: 'POST', path: '/items', body } },
        { connectionParams: [param('databaseUrl', { secret: true }), param('region')] },
        { params: { region: 'eu' }, changed: ['resources.0.request.body'] },
      ),
    ),
    paging('none', {}),
    paging('page', { inject, totalPages: '1' }),
    paging('offset', {
      inject,
      size: 10,
      total: 'body.total',
      shrink: { when: { status: [413], expr: 'body.large' }, min: 2 },
    }),
    paging('cursor', { inject: { in: 'header', name: 'X-At' }, next: 'body.next' }),
    paging('next_url', { next: 'body.next' }),
    paging('link_header', { rel: 'next' }),
    paging('keyset', { inject, field: 'id' }),
  ];
}
