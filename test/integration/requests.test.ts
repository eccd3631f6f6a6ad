import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { type ConnectOptions, connect } from '../support/sync/connected.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useSharedService({ reply: api.reply });
type Parts = Omit<ConnectOptions, 'upstream' | 'name'>;
const connection = (name: string, parts: Parts) =>
  connect(shared().stack, { upstream: shared().upstream, name, ...parts });

const requests = (name: string) => shared().upstream.journal.filter(({ url }) => url.split(/[/?]/)[1] === name);
const byPage = { kind: 'page', size: 1, inject: { in: 'query', name: 'page' } };
/** One record on each of `count` pages. */
const pages = (name: string, count: number, headers: Readonly<Record<string, string>> = {}) =>
  api.serve(name, (query) => {
    const page = Number(query.get('page'));
    return { headers, body: page <= count ? [{ id: page }] : [] };
  });
/** Milliseconds between the response to one request and the next request. */
const pauses = (name: string) =>
  requests(name).map(({ receivedAt }, index, all) => receivedAt - (all[index - 1]?.responseAt ?? receivedAt));
const buckets = async () => {
  const { stack } = shared();
  const ours = stack.db.selectFrom('buckets').where('orgId', '=', stack.org.orgId);
  return await ours.select(['connectionId', 'name']).orderBy('name').execute();
};
/** A timer may fire a little early against another clock. */
const closeTo = (ms: number) => ms - 50;

describe('a GraphQL body', () => {
  it('carries query, variables and the cursor of the page', async () => {
    api.serve('graphql', (_query, { body }) => {
      const { variables } = JSON.parse(body) as { readonly variables: { readonly after?: string } };
      const next = variables.after === undefined ? 'c1' : null;
      return { body: { data: { items: { nodes: [{ id: variables.after ?? 'c0' }], end: next } } } };
    });
    const query = 'query Items($first: Int, $after: String) { items(first: $first, after: $after) { nodes { id } } }';
    const graphql = await connection('graphql', {
      resource: {
        request: {
          method: 'POST',
          path: '/graphql',
          body: { graphql: { query, variables: { first: '{{ page.size }}', since: '{{ watermark }}' } } },
        },
        response: { records: 'data.items.nodes' },
        pagination: {
          kind: 'cursor',
          next: 'body.data.items.end',
          size: 50,
          inject: { in: 'body', name: 'variables.after' },
        },
      },
    });
    expect((await graphql.sync()).status).toBe('succeeded');
    expect((await graphql.rows()).map(({ id }) => id)).toEqual(['c0', 'c1']);
    const sent = requests('graphql').map(({ headers, body }) => [headers['content-type'], JSON.parse(body)]);
    expect(sent).toEqual([
      ['application/json', { query, variables: { first: 50 } }],
      ['application/json', { query, variables: { first: 50, after: 'c1' } }],
    ]);
  });
});

describe('fields added to a record', () => {
  it('hold what its request was made of', async () => {
    const at = '2025-03-01T00:00:00.000Z';
    api.serve('fields', () => ({ body: [{ id: 1, at }] }));
    const fields = await connection('fields', {
      resource: {
        response: {
          addFields: { since: 'window.from', mark: '$string(watermark)', mode: 'run.mode' },
        },
        incremental: {
          kind: 'cursor',
          cursor: { field: 'at', type: 'datetime' },
          initial: '2025-01-01',
          order: 'asc',
        },
        changeDetection: { ignore: ['since'] },
      },
    });
    await fields.sync();
    expect(await fields.rows()).toMatchObject([{ since: '2025-01-01T00:00:00.000Z', mode: 'incremental' }]);
    await fields.sync();
    expect(await fields.rows()).toMatchObject([{ since: at, mark: at }]);
    expect(await fields.sync()).toMatchObject({ statsJson: { recordsIn: 1, skipped: 1 } });
  });
});

describe('coercion', () => {
  it('makes of each value what the schema names, and quarantines what cannot be made', async () => {
    api.serve('coerced', () => ({
      body: [
        { id: '1', amount: '12.50', active: 'true', code: 7 },
        { id: '2', amount: 'twelve', active: 'no', code: 'x' },
      ],
    }));
    const properties = {
      id: { type: 'integer' },
      amount: { type: 'number' },
      active: { type: 'boolean' },
      code: { type: 'string' },
    };
    const coerced = await connection('coerced', {
      resource: { validate: { schema: { type: 'object', properties }, coerce: true }, onInvalid: 'quarantine' },
    });
    expect(await coerced.sync()).toMatchObject({ status: 'partial', statsJson: { recordsOut: 1, quarantined: 1 } });
    expect(await coerced.rows()).toEqual([{ id: '1', amount: 12.5, active: true, code: '7' }]);
    const { rows } = await sql<{ issues: { path: string }[] }>`
      select validation_errors as issues from quarantine where connection_id = ${coerced.id}`.execute(
      shared().stack.db,
    );
    expect(rows[0]?.issues.map(({ path }) => path).sort()).toEqual(['active', 'amount']);
  });
});

describe('a share of invalid records', () => {
  const validate = { schema: { properties: { name: { type: 'string' } } }, maxInvalidRatio: 0.1 };
  const resource = {
    request: { path: '/', query: { size: '{{ page.size }}' } },
    pagination: { kind: 'page', size: 60, inject: { in: 'query', name: 'page' } },
    validate,
  };
  const serve = (name: string, isBad: (id: number) => boolean) =>
    api.serve(name, (query) => {
      const from = (Number(query.get('page')) - 1) * 60;
      const ids = Array.from({ length: 60 }, (_, index) => from + index).filter((id) => id < 300);
      return { body: ids.map((id) => ({ id, name: isBad(id) ? 7 : 'a' })) };
    });

  it.each(['quarantine', 'skip'])('above the ratio fails the run before the page (%s)', async (onInvalid) => {
    const name = `bad_${onInvalid}`;
    serve(name, (id) => id >= 60 && id < 90);
    const bad = await connection(name, { resource: { ...resource, request: { path: `/${name}` }, onInvalid } });
    const { status, error, statsJson } = await bad.sync();
    expect({ status, error, statsJson }).toMatchObject({
      status: 'failed',
      error: { code: 'record_invalid', message: expect.stringContaining('30 of 120 records') },
      statsJson: { recordsIn: 60, recordsOut: 60, quarantined: 0 },
    });
    expect(await bad.rows()).toHaveLength(60);
  });

  it('within it lets the run end', async () => {
    serve('tolerable', (id) => id % 10 === 0);
    const tolerable = await connection('tolerable', {
      resource: { ...resource, request: { path: '/tolerable' }, onInvalid: 'quarantine' },
    });
    const stats = { recordsIn: 300, recordsOut: 270, quarantined: 30 };
    expect(await tolerable.sync()).toMatchObject({ status: 'partial', statsJson: stats });
  });
});

describe('a version field', () => {
  it('says alone whether a record has changed; without one the whole record does', async () => {
    let records: readonly Readonly<Record<string, unknown>>[] = [
      { id: 1, etag: 'a', seen: 1 },
      { id: 2, seen: 1 },
    ];
    api.serve('versioned', () => ({ body: records }));
    const versioned = await connection('versioned', {
      resource: { changeDetection: { mode: 'field', field: 'etag' } },
    });
    expect(await versioned.sync()).toMatchObject({ statsJson: { recordsOut: 2 } });
    records = [
      { id: 1, etag: 'a', seen: 2 },
      { id: 2, seen: 2 },
    ];
    expect(await versioned.sync()).toMatchObject({ statsJson: { recordsOut: 1, skipped: 1 } });
    records = [{ id: 1, etag: 'b', seen: 2 }];
    expect(await versioned.sync()).toMatchObject({ statsJson: { recordsOut: 1, skipped: 0 } });
    expect(await versioned.rows()).toMatchObject([{ etag: 'b', seen: '2' }, { seen: '2' }]);
  });
});

describe('the budget that an API tells in its headers', () => {
  it('is waited for when it is used up', async () => {
    pages('spent', 2, { 'x-remaining': '0', 'x-reset': '2' });
    const headers = { remaining: 'X-Remaining', reset: 'X-Reset', resetFormat: 'seconds' };
    const spent = await connection('spent', {
      http: { rateLimit: { requests: 1000, headers } },
      resource: { pagination: byPage },
    });
    expect(await spent.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2 } });
    expect(Math.min(...pauses('spent').slice(1))).toBeGreaterThanOrEqual(closeTo(2000));
  });

  it('does not matter while something is left', async () => {
    pages('rich', 2, { 'x-remaining': '5', 'x-reset': '3000' });
    const headers = { remaining: 'x-remaining', reset: 'x-reset', resetFormat: 'seconds' };
    const rich = await connection('rich', {
      http: { rateLimit: { requests: 1000, headers } },
      resource: { pagination: byPage, limits: { maxDurationSeconds: 60 } },
    });
    expect(await rich.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2 } });
  });
});

describe('a narrower bucket of one request', () => {
  it('spaces its requests', async () => {
    pages('narrow', 2);
    const narrow = await connection('narrow', {
      resource: {
        request: { path: '/narrow', rateLimit: { requests: 1, perSeconds: 2 } },
        pagination: byPage,
      },
    });
    expect(await narrow.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2 } });
    const times = requests('narrow').map(({ receivedAt }) => receivedAt);
    expect(times).toHaveLength(3);
    // 4 s less what a busy machine takes to receive the first.
    expect((times[2] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(2000);
    const own = (await buckets()).filter(({ connectionId }) => connectionId === narrow.id);
    expect(own.map(({ name }) => name)).toEqual(['GET /narrow', 'http']);
  });
});

describe('a bucket of the org', () => {
  it('is one for all connections of a spec', async () => {
    pages('common', 1);
    const parts = {
      specKey: 'common',
      http: { rateLimit: { scope: 'org', requests: 1, perSeconds: 2 } },
      resource: { pagination: byPage },
    };
    const [first, second] = [await connection('common', parts), await connection('common', parts)];
    await Promise.all([first.sync(), second.sync()]);
    const times = requests('common').map(({ receivedAt }) => receivedAt);
    expect(times).toHaveLength(4);
    expect((times[3] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(closeTo(6000));
    expect(await buckets()).toContainEqual({ connectionId: null, name: 'common: http' });
    const own = (await buckets()).filter(({ connectionId }) => [first.id, second.id].includes(connectionId ?? ''));
    expect(own).toEqual([]);
  });
});
