import { describe, expect, it } from 'vitest';
import { ago, byToken, dayMs, idsOf, incrementalBy, since, useConnections } from '../support/sync/use-connections.ts';

const { api, connection, asked } = useConnections();
const incremental = incrementalBy('at');

describe('a token read', () => {
  const resource = (name: string, expired: unknown = {}) => ({
    request: { path: `/${name}`, query: { token: '{{ watermark }}' } },
    response: { records: 'data' },
    pagination: byToken,
    incremental: { kind: 'token', next: 'body.token', initial: 'start', expired },
  });

  it('goes on from the token of its last page, and reads in full when the API has forgotten it', async () => {
    const all = [1, 2, 3, 4].map((id) => ({ id, name: 'a' }));
    let changed: readonly unknown[] = [];
    let current = 't1';
    api.serve('feed', (query) => {
      const from = query.get('token');
      if (from === 'start') {
        const first = { data: all.slice(0, 2), next: 'p2', token: 'too early' };
        return { body: query.has('page') ? { data: all.slice(2), token: current } : first };
      }
      return from === current ? { body: { data: changed, token: current } } : { status: 410 };
    });
    const feed = await connection('feed', resource('feed'));
    expect(await feed.sync()).toMatchObject({
      status: 'succeeded',
      watermarkAfter: 't1',
      statsJson: { recordsOut: 4 },
    });

    changed = [{ id: 2, name: 'b' }];
    const second = { watermarkBefore: 't1', watermarkAfter: 't1', statsJson: { recordsIn: 1, recordsOut: 1 } };
    expect(await feed.sync()).toMatchObject(second);

    all.splice(0, 2, { id: 1, name: 'a' }, { id: 2, name: 'c' });
    current = 't2';
    const third = { status: 'succeeded', watermarkAfter: 't2', statsJson: { recordsIn: 4, recordsOut: 1, skipped: 3 } };
    expect(await feed.sync()).toMatchObject(third);
    expect(await feed.rows()).toMatchObject([{ name: 'a' }, { name: 'c' }, { name: 'a' }, { name: 'a' }]);
  });

  it('keeps its token when it fails before its end', async () => {
    let broken = false;
    api.serve('torn', (query) => {
      if (!query.has('page')) return { body: { data: [{ id: 1 }], next: 'p2', token: 't8' } };
      return broken ? { status: 400 } : { body: { data: [{ id: 2 }], token: 't9' } };
    });
    const torn = await connection('torn', resource('torn'));
    expect(await torn.sync()).toMatchObject({ watermarkAfter: 't9' });
    broken = true;
    expect(await torn.sync()).toMatchObject({ status: 'failed', watermarkBefore: 't9', watermarkAfter: 't9' });
  });

  it('fails where the spec wants no full read, by the words of the response', async () => {
    let forgotten = false;
    api.serve('strict', (query) =>
      forgotten && query.get('token') !== 'start'
        ? { status: 400, body: { code: 'TOKEN_TOO_OLD' } }
        : { body: { data: [{ id: 1 }], token: 't1' } },
    );
    const expired = { status: [400], expr: "body.code = 'TOKEN_TOO_OLD'", action: 'fail' };
    const strict = await connection('strict', resource('strict', expired));
    expect((await strict.sync()).status).toBe('succeeded');
    forgotten = true;
    const { error } = await strict.sync();
    expect(error).toMatchObject({
      code: 'source_rejected',
      message: expect.stringContaining('the stored token as expired'),
    });
  });
});

describe('a cursor in a form of its own', () => {
  it('is ordered by time, day first or not', async () => {
    const rows = ['31/12/2024 23:00', '01/01/2025 01:00', '01/02/2025 00:30'].map((at, id) => ({ id, at }));
    api.serve('dayfirst', () => ({ body: rows }));
    const dayFirst = await connection('dayfirst', {
      request: since('dayfirst'),
      incremental: { ...incremental, cursor: { ...incremental.cursor, format: '%d/%m/%Y %H:%M' } },
    });
    expect(await dayFirst.sync()).toMatchObject({ status: 'succeeded', watermarkAfter: '2025-02-01T00:30:00.000Z' });
    await dayFirst.sync();
    expect(asked('dayfirst').at(-1)?.get('since')).toBe('2025-02-01T00:30:00.000Z');
  });
});

describe('a lookback by a number', () => {
  it('delivers a record that is committed late below the watermark', async () => {
    const rows = [6, 8, 12].map((v) => ({ id: v, v }));
    api.serve('late', (query) => ({ body: rows.filter(({ v }) => v >= Number(query.get('since'))) }));
    const late = await connection('late', {
      request: since('late'),
      incremental: { kind: 'cursor', cursor: { field: 'v', type: 'integer' }, order: 'none', initial: 0, lookback: 5 },
    });
    expect(await late.sync()).toMatchObject({ watermarkAfter: '12', statsJson: { recordsOut: 3 } });
    rows.push({ id: 7, v: 7 });
    expect(await late.sync()).toMatchObject({ watermarkAfter: '12', statsJson: { recordsOut: 1, skipped: 2 } });
    expect(asked('late').map((query) => query.get('since'))).toEqual(['0', '7']);
    expect(await idsOf(late)).toEqual(['12', '6', '7', '8']);
  });
});

describe('windows', () => {
  it('are split down to what the API gives, grow back and overlap; every record arrives once', async () => {
    const start = Date.now() - 90 * dayMs;
    // Crowded in the first ten days, sparse after.
    const rows = Array.from({ length: 120 }, (_, id) => {
      const day = id < 100 ? id / 10 : 10 + (id - 100) * 4;
      return { id, at: new Date(start + day * dayMs + 1000).toISOString() };
    });
    const given: number[] = [];
    api.serve('capped', (query) => {
      const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
      const found = rows.filter(({ at }) => at >= from && at < to);
      if (found.length <= 20) given.push(Date.parse(to) - Date.parse(from));
      return { body: { total: found.length, data: found.slice(0, 20) } };
    });
    const capped = await connection('capped', {
      request: { path: '/capped', query: { from: '{{ window.from }}', to: '{{ window.to }}' } },
      response: { records: 'data', total: 'total' },
      incremental: {
        ...incremental,
        initial: new Date(start).toISOString(),
        window: { size: 'P16D', overlap: 'PT1H' },
        resultCap: { records: 20 },
      },
    });
    const run = await capped.sync();
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 120, quarantined: 0 } });
    expect(await idsOf(capped)).toHaveLength(120);
    expect(Math.min(...given)).toBeLessThan(3 * dayMs);
    expect(Math.max(...given)).toBe(16 * dayMs);
    const windows = asked('capped').map((query) => ({ from: query.get('from') ?? '', to: query.get('to') ?? '' }));
    const overlaps = windows.filter(({ from }) =>
      windows.some(({ to }) => Date.parse(to) - Date.parse(from) === 3_600_000),
    );
    expect(overlaps.length).toBeGreaterThan(5);
    expect(Date.parse(run.watermarkAfter ?? '')).toBeGreaterThan(Date.now() - 60_000);
  });

  it('that the API cuts off fail the run where they must not be split', async () => {
    api.serve('uncut', () => ({ body: { total: 30, data: [] } }));
    const uncut = await connection('uncut', {
      response: { records: 'data', total: 'total' },
      incremental: {
        ...incremental,
        initial: 'now-P10D',
        window: { size: 'P1D' },
        resultCap: { records: 20, onReached: 'fail' },
      },
    });
    const { status, error } = await uncut.sync();
    expect({ status, message: error?.message }).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('30 records'),
    });
  });
});

describe('an API that cannot filter', () => {
  it('is read newest first down to the watermark', async () => {
    const rows = Array.from({ length: 30 }, (_, id) => ({ id, at: ago((30 - id) * dayMs) }));
    api.serve('newest', (query) => {
      const from = (Number(query.get('page')) - 1) * 10;
      return { body: rows.toReversed().slice(from, from + 10) };
    });
    const newest = await connection('newest', {
      pagination: { kind: 'page', size: 10, inject: { in: 'query', name: 'page' } },
      incremental: {
        ...incremental,
        cursor: { ...incremental.cursor, missing: 'exclude' },
        order: 'desc',
        clientFilter: true,
      },
    });
    expect(await newest.sync()).toMatchObject({ statsJson: { recordsOut: 30 }, watermarkAfter: rows.at(-1)?.at });
    const before = asked('newest').length;
    rows.push({ id: 30, at: ago(0) });
    expect(await newest.sync()).toMatchObject({ statsJson: { recordsIn: 2, recordsOut: 1, skipped: 1 } });
    expect(asked('newest').slice(before)).toHaveLength(1);
  });
});

describe('a record dated in the future', () => {
  it('is delivered but does not carry the watermark past the run', async () => {
    const future = new Date(Date.now() + 30 * dayMs).toISOString();
    const rows = [
      { id: 1, at: ago(dayMs) },
      { id: 2, at: future },
    ];
    api.serve('future', (query) => ({ body: rows.filter(({ at }) => at >= (query.get('since') ?? '')) }));
    const resource = { request: since('future'), incremental: { ...incremental, settle: 'PT30S' } };
    const dated = await connection('future', resource);
    const { startedAt, watermarkAfter } = await dated.sync();
    expect(Date.parse(watermarkAfter ?? '')).toBeLessThanOrEqual(Date.parse(startedAt ?? '') - 20_000);
    rows.push({ id: 3, at: ago(0) });
    expect(await dated.sync()).toMatchObject({ statsJson: { recordsOut: 1 } });
    expect(await idsOf(dated)).toEqual(['1', '2', '3']);
  });
});

describe('a day as cursor', () => {
  it.each(['epoch_ms', 'iso'])('is read again to its end where requests carry %s', async (sendAs) => {
    const day = (offset: number) => new Date(Date.now() + offset * dayMs).toISOString().slice(0, 10);
    const rows = [
      { id: 1, on: day(0) },
      { id: 2, on: day(5) },
    ];
    const name = `days_${sendAs}`;
    const fromOf = (text: string) => (sendAs === 'iso' ? Date.parse(text) : Number(text));
    api.serve(name, (query) => ({
      body: rows.filter(({ on }) => Date.parse(on) >= fromOf(query.get('since') ?? '0')),
    }));
    const cursor = { field: 'on', type: 'date', sendAs };
    const dated = await connection(name, {
      request: since(name),
      incremental: { kind: 'cursor', cursor, order: 'none', settle: 'PT0S', initial: '2020-01-01' },
    });
    expect((await dated.sync()).status).toBe('succeeded');
    rows.push({ id: 3, on: day(0) });
    expect(await dated.sync()).toMatchObject({ statsJson: { recordsOut: 1 } });
    expect(await idsOf(dated)).toEqual(['1', '2', '3']);
    expect(await dated.sync()).toMatchObject({ statsJson: { recordsOut: 0 } });
  });
});
