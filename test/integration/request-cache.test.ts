import { describe, expect, it } from 'vitest';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { type Customer, connectCustomer } from '../support/sync/customer.ts';
import { oneResourceSpec } from '../support/sync/spec-documents.ts';
import { createScriptedApi, type ScriptedReply } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useSharedService({ reply: api.reply });

type Json = Readonly<Record<string, unknown>>;

/** Rows of a resource by id, and what its connection is asked beside them. */
async function world(name: string, parts: Json) {
  const rows = new Map<number, Json>();
  api.serve(name, () => ({ body: [...rows.values()] }));
  const customer = await connectCustomer(shared().stack, {
    document: oneResourceSpec(name, { baseUrl: shared().upstream.url, ...parts }),
    params: {},
    secrets: {},
  });
  return {
    ...customer,
    sync: () => customer.sync(name),
    put: (...given: readonly (Json & { readonly id: number })[]) => {
      rows.clear();
      for (const row of given) rows.set(row.id, row);
    },
    live: () => liveOf(customer, name),
  };
}

const liveOf = async ({ destination }: Customer, table: string) =>
  (
    await destination.query<{ id: string }>(
      `select _external_id as id from ${table} where _deleted_at is null order by _external_id`,
    )
  ).map(({ id }) => Number(id));

/** Serves what `body` gives for a path and page with its text as ETag, and 304 to a request that brings it. */
const tagged = (name: string, bodyOf: (url: URL) => unknown) =>
  api.serve(name, (_query, { url, headers }): ScriptedReply => {
    const body = bodyOf(new URL(url, 'http://upstream'));
    if (body instanceof Error) return { status: 400 };
    const etag = `"${Buffer.from(JSON.stringify(body)).toString('base64url')}"`;
    return headers['if-none-match'] === etag ? { status: 304, headers: { etag } } : { headers: { etag }, body };
  });

const statuses = (name: string) =>
  shared()
    .upstream.journal.filter(({ url }) => url.split(/[/?]/)[1] === name)
    .map(({ status }) => status);

const conditional = { mode: 'conditional' };

describe('a table that is requested conditionally', () => {
  it('is whole in every run, with the pages that changed and those that did not', async () => {
    const teams = [
      { id: 1, lead: 'Ada' },
      { id: 2, lead: 'Bob' },
    ];
    tagged('tables-teams', ({ searchParams }) => {
      const page = Number(searchParams.get('page') ?? 0);
      return { data: teams.slice(page, page + 1), next: page === 0 ? 1 : null };
    });
    const of = await world('tables', {
      lookups: [
        {
          assignTo: 'teams',
          kind: 'request',
          request: { path: '/tables-teams', cache: conditional },
          records: 'data',
          pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } },
          keyBy: 'id',
          value: 'lead',
        },
      ],
      transform: "{ 'id': id, 'lead': $lookup($lookups.teams, $string(team)) }",
    });
    await using _customer = of;
    const leads = async () =>
      (await of.destination.query<{ lead: string }>('select lead from tables order by id::int')).map(
        ({ lead }) => lead,
      );
    of.put({ id: 1, team: 1 }, { id: 2, team: 2 });
    await of.sync();
    of.put({ id: 1, team: 2 }, { id: 2, team: 1 });
    const second = await of.sync();
    expect(await leads()).toEqual(['Bob', 'Ada']);
    expect(statuses('tables-teams')).toEqual([200, 200, 304, 304]);
    const saved = (await of.calls(second.id)).filter(({ cacheHit }) => cacheHit);
    expect(saved.map(({ statusCode }) => statusCode)).toEqual([304, 304]);

    teams[1] = { id: 2, lead: 'Eve' };
    of.put({ id: 1, team: 1 }, { id: 2, team: 2 });
    await of.sync();
    expect(await leads()).toEqual(['Ada', 'Eve']);
    expect(statuses('tables-teams').slice(4)).toEqual([304, 200]);
  });
});

describe('an enrichment', () => {
  it.each([
    ['conditional', { mode: 'conditional' }, [200, 304], 304],
    ['timed', { mode: 'ttl', ttlSeconds: 3600 }, [200], null],
  ])('that is %s finds in the next run what it found in the last', async (kind, cache, asked, statusCode) => {
    const name = `plans-${kind}`;
    tagged(`${name}-of`, () => ({ name: 'Pro' }));
    const of = await world(name, {
      target: { table: `plans_${kind}` },
      enrich: [{ assignTo: 'plan', key: 'record.plan', request: { path: `/${name}-of/{{ key }}`, cache } }],
      transform: "{ 'id': id, 'plan': $lookups.plan.name }",
    });
    await using _customer = of;
    of.put({ id: 1, plan: 'p' });
    await of.sync();
    of.put({ id: 1, plan: 'p' }, { id: 2, plan: 'p' });
    const { id } = await of.sync();
    const rows = await of.destination.query(`select plan from plans_${kind}`);
    expect(rows).toEqual([{ plan: 'Pro' }, { plan: 'Pro' }]);
    expect(statuses(`${name}-of`)).toEqual(asked);
    const saved = (await of.calls(id)).filter(({ cacheHit }) => cacheHit);
    expect(saved).toMatchObject([{ statusCode }]);
  });
});

describe('a list of deleted records', () => {
  const listed = (name: string, cache: Json) => ({
    mode: 'endpoint',
    request: { path: `/${name}-gone`, cache },
    records: 'ids',
    key: 'id',
    pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } },
  });

  it('that did not change deletes what a later read lacks', async () => {
    tagged('known-gone', () => ({ ids: [{ id: 1 }, { id: 3 }] }));
    const of = await world('known', { deletes: listed('known', conditional) });
    await using _customer = of;
    of.put({ id: 1 }, { id: 2 });
    expect((await of.sync()).statsJson).toMatchObject({ recordsOut: 2, deleted: 0 });
    of.put({ id: 2 });
    expect((await of.sync()).statsJson).toMatchObject({ recordsOut: 0, deleted: 1 });
    expect(await of.live()).toEqual([2]);
    expect(statuses('known-gone')).toEqual([200, 304]);
  });

  it('that a run did not read to its end loses nothing to its cache', async () => {
    let isBroken = true;
    tagged('torn-gone', ({ searchParams }) => {
      if (searchParams.get('page') === null) return { ids: [{ id: 1 }], next: 2 };
      return isBroken ? new Error('away') : { ids: [{ id: 2 }], next: null };
    });
    const of = await world('torn', { deletes: listed('torn', conditional) });
    await using _customer = of;
    of.put({ id: 1 }, { id: 2 }, { id: 3 });
    expect((await of.sync()).status).toBe('failed');
    isBroken = false;
    of.put({ id: 3 });
    expect((await of.sync()).status).toBe('succeeded');
    expect((await of.sync()).status).toBe('succeeded');
    expect(await of.live()).toEqual([3]);
    expect(statuses('torn-gone').slice(-4)).toEqual([304, 200, 304, 304]);
  });

  it('is passed over while it counts, and read again behind that', async () => {
    let ids: readonly Json[] = [{ id: 1 }];
    tagged('timed-gone', () => ({ ids }));
    const of = await world('timed', { deletes: listed('timed', { mode: 'ttl', ttlSeconds: 3600 }) });
    await using _customer = of;
    of.put({ id: 1 }, { id: 2 });
    expect((await of.sync()).statsJson).toMatchObject({ deleted: 0 });
    ids = [{ id: 2 }];
    of.put({ id: 1, name: 'back' }, { id: 2 });
    const { id, status } = await of.sync();
    expect(status).toBe('succeeded');
    expect(await of.live()).toEqual([1, 2]);
    expect(statuses('timed-gone')).toEqual([200]);
    expect((await of.calls(id)).filter(({ cacheHit }) => cacheHit)).toMatchObject([{ statusCode: null }]);

    const { db } = shared().stack;
    await db.deleteFrom('lookupCache').where('connectionId', '=', of.connectionId).execute();
    of.put({ id: 1, name: 'back' });
    expect((await of.sync()).statsJson).toMatchObject({ deleted: 1 });
    expect(await of.live()).toEqual([1]);
  });
});
