/*
 * Where others lose or duplicate records. What a single rule decides is tested beside that rule: late commits in
 * src/core/source/simulation.test.ts; ids in src/core/model; error pages, repeated pages and the order of cursors in
 * src/core/source; partitions, parents, full scans, tokens and lanes in the files of these names here.
 */
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { testDatabaseUrl } from '../support/service/database-server.ts';
import { eventually } from '../support/service/eventually.ts';
import { ago, byToken, dayMs, incrementalBy, useConnections } from '../support/sync/use-connections.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const { shared, api, connection, asked } = useConnections({
  collections: { same: generateRecords(300), crowd: generateRecords(3000, { stepMs: 0, bytes: 200 }) },
});
const incremental = incrementalBy('updated_at');
/** A collection of the fake API. */
const collection = (name: string) => ({
  request: {
    path: `/cursor/${name}`,
    query: { per_page: '{{ page.size }}', updated_since: '{{ window.from }}' },
  },
  response: { records: 'data' },
  pagination: { kind: 'cursor', next: 'body.next_cursor', size: 100, inject: { in: 'query', name: 'cursor' } },
});

describe('a sync', () => {
  it('appends no row a second time in the next one', async () => {
    const same = await connection('same', { ...collection('same'), target: { table: 'same', mode: 'append' } });
    expect(await same.sync()).toMatchObject({ statsJson: { recordsIn: 300, recordsOut: 300 } });
    await same.destination.audit('same');
    expect(await same.sync()).toMatchObject({ statsJson: { recordsIn: 300, recordsOut: 0, skipped: 300 } });
    expect(await same.destination.writes()).toEqual({ rows: 0, inserts: 0, updates: 0, deletes: 0 });
  });

  it('reads thousands of records with one cursor value, and what comes to them later', async () => {
    const { upstream, stack } = shared();
    const crowd = await connection('crowd', { ...collection('crowd'), incremental });
    const first = await crowd.sync();
    expect(first).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 3000, recordsOut: 3000 } });
    // What a run carries from page to page does not grow with the records at the boundary.
    const late = upstream.hold(upstream.journal.length + 30);
    const runId = await crowd.request();
    await late.reached;
    const { position } = await stack.db
      .selectFrom('runs')
      .select('position')
      .where('id', '=', runId)
      .executeTakeFirstOrThrow();
    expect(JSON.stringify(position).length).toBeLessThan(2000);
    late.release();
    expect(await crowd.ended(runId)).toMatchObject({ statsJson: { recordsIn: 3000, skipped: 3000 } });

    const at = first.watermarkAfter ?? '';
    upstream.store('crowd').put({ id: 'a-newcomer', updated_at: at });
    upstream.store('crowd').touch(['r000007'], { name: 'changed within the same second' }, new Date(at));
    expect(await crowd.sync()).toMatchObject({ statsJson: { recordsOut: 2, skipped: 2999 }, watermarkAfter: at });
  });

  it('of records that are out of order, and that fails halfway, loses none of them', async () => {
    // Said to be sorted by time, but it is by id.
    const days = [10, 2, 30, 4, 20, 6];
    const rows = days.map((age, id) => ({ id, updated_at: ago(age * dayMs) }));
    let broken = true;
    api.serve('unordered', (query) => {
      const page = Number(query.get('page') ?? 0);
      if (broken && page === 2) return { status: 400 };
      const found = rows.filter((row) => row.updated_at >= (query.get('since') ?? ''));
      return { body: { data: found.slice(page * 2, page * 2 + 2), next: page < 2 ? page + 1 : null } };
    });
    const unordered = await connection('unordered', {
      request: { path: '/unordered', query: { since: '{{ window.from }}' } },
      response: { records: 'data' },
      pagination: byToken,
      incremental,
    });
    const failed = await unordered.sync();
    // The first page claimed two days ago; the second took the claim back.
    expect(failed).toMatchObject({ status: 'failed', statsJson: { recordsOut: 4 }, watermarkAfter: null });
    broken = false;
    const repaired = {
      status: 'succeeded',
      statsJson: { recordsOut: 2, skipped: 4 },
      watermarkAfter: rows[1]?.updated_at,
    };
    expect(await unordered.sync()).toMatchObject(repaired);
    expect(await unordered.rows()).toHaveLength(6);
  });

  it('tries a search by POST again for the same page when its response was lost', async () => {
    const { upstream } = shared();
    api.serve('searched', (_query, { body }) => {
      const { after = 0 } = JSON.parse(body) as { readonly after?: number };
      return { body: { data: [{ id: after }, { id: after + 1 }], next: after < 4 ? after + 2 : null } };
    });
    const searched = await connection('searched', {
      request: { method: 'POST', path: '/searched', body: { json: { limit: 2 } } },
      response: { records: 'data' },
      pagination: { ...byToken, inject: { in: 'body', name: 'after' } },
    });
    // Its response is lost on the way: the API has done the search, we have seen nothing of it.
    upstream.failAt(upstream.journal.length + 2, { kind: 'reset', when: 'midway' });
    expect(await searched.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 6, recordsOut: 6 } });
    const bodies = upstream.journal.filter(({ url }) => url === '/searched').map(({ body }) => JSON.parse(body));
    expect(bodies).toEqual([{ limit: 2 }, { limit: 2, after: 2 }, { limit: 2, after: 2 }, { limit: 2, after: 4 }]);
  });

  it('loses nothing while the clock of the API is slow and goes back for winter', async () => {
    // 26 October 2025 in Berlin: 02:00 to 03:00 was shown twice. The API compares readings, and its clock is slow.
    const clock = new Date('2025-10-26T01:30:00Z');
    let rows = [
      { id: 1, at: '2025-10-26 02:30:00' },
      { id: 2, at: '2025-10-26 02:59:00' },
      { id: 9, at: '2099-10-26 09:00:00' },
    ];
    api.serve('local', (query) => ({
      headers: { date: clock.toUTCString() },
      body: rows.filter(({ at }) => at >= (query.get('since') ?? '')),
    }));
    const local = await connection('local', {
      request: { path: '/local', query: { since: '{{ window.from }}' } },
      incremental: {
        ...incremental,
        cursor: { field: 'at', type: 'datetime', format: '%F %T', timezone: 'Europe/Berlin', sendAs: 'raw' },
        settle: 'PT40M',
      },
    });
    // The record ahead of every clock does not carry the watermark beyond that of the API less settle.
    expect(await local.sync()).toMatchObject({ watermarkAfter: '2025-10-26T00:50:00.000Z' });

    // In the second hour between two and three: a new record, and one of the first hour has changed.
    rows = [
      { id: 3, at: '2025-10-26 02:15:00' },
      { id: 2, at: '2025-10-26 02:20:00' },
    ];
    expect(await local.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 2, recordsOut: 2 } });
    expect(asked('local').at(-1)?.get('since')).toBe('2025-10-26 01:50:00');
    expect(await local.rows()).toMatchObject([{ id: '1' }, { id: '2', at: '2025-10-26 02:20:00' }, { id: '3' }, {}]);
  });

  it('goes on from its windows where the records have no cursor', async () => {
    const rows = Array.from({ length: 40 }, (_, id) => ({ id, at: ago((40 - id) * dayMs) }));
    api.serve('silent', (query) => {
      const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
      return { body: rows.filter(({ at }) => at >= from && at < to).map(({ id }) => ({ id })) };
    });
    const silent = await connection('silent', {
      request: { path: '/silent', query: { from: '{{ window.from }}', to: '{{ window.to }}' } },
      incremental: {
        kind: 'cursor',
        cursor: { type: 'datetime' },
        initial: ago(50 * dayMs),
        order: 'none',
        settle: 'PT1H',
        window: { size: 'P7D' },
      },
    });
    const first = await silent.sync();
    expect(first).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 40, recordsOut: 40 } });
    const before = Date.parse(first.startedAt ?? '') - 3_600_000;
    expect(Date.parse(first.watermarkAfter ?? '')).toBeGreaterThan(before - 60_000);
    expect(Date.parse(first.watermarkAfter ?? '')).toBeLessThan(before + 60_000);
    // Became visible late, within the settle time.
    rows.push({ id: 40, at: ago(1_800_000) });
    expect(await silent.sync()).toMatchObject({ statsJson: { recordsOut: 1 } });
    expect(await silent.rows()).toHaveLength(41);
  });

  it('that loses its destination keeps fingerprints of what was delivered only', async () => {
    const { stack, upstream } = shared();
    api.serve('downtime', (query) => {
      const page = Number(query.get('page') ?? 0);
      return { body: { data: [{ id: page }], next: page < 9 ? page + 1 : null } };
    });
    const downtime = await connection('downtime', { response: { records: 'data' }, pagination: byToken });
    const eighth = upstream.hold(upstream.journal.length + 8);
    const runId = await downtime.request();
    await eighth.reached;
    const runs = stack.db.selectFrom('runs').select(['recordsOut', 'errorCode']).where('id', '=', runId);
    await eventually('a page is recorded', async () => (await runs.executeTakeFirstOrThrow()).recordsOut > 0);
    await using down = await closeDatabase(downtime.destination.url);
    eighth.release();
    await eventually('the destination is missed', async () => {
      const { errorCode } = await runs.executeTakeFirstOrThrow();
      return errorCode === 'destination_unavailable';
    });
    const { recordsOut } = await runs.executeTakeFirstOrThrow();
    const lanes = stack.db.selectFrom('recordState').innerJoin('lanes', 'lanes.id', 'recordState.laneId');
    const known = await lanes.select('externalId').where('connectionId', '=', downtime.id).execute();
    expect(recordsOut).toBeLessThan(10);
    expect(known).toHaveLength(recordsOut);
    await down.reopen();
    expect(await downtime.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 10 } });
    expect(await downtime.rows()).toHaveLength(10);
  });
});

/** Ends every session of a database and lets nobody in until it is reopened. */
async function closeDatabase(url: string): Promise<AsyncDisposable & { reopen(): Promise<void> }> {
  const name = new URL(url).pathname.slice(1);
  const server = new pg.Client({ connectionString: testDatabaseUrl().href });
  await server.connect();
  await server.query(`alter database ${name} with allow_connections false`);
  await server.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
  return {
    reopen: async () => void (await server.query(`alter database ${name} with allow_connections true`)),
    [Symbol.asyncDispose]: () => server.end(),
  };
}
