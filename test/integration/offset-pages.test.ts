import { describe, expect, it } from 'vitest';
import { ago, byToken, dayMs, idsOf, incrementalBy, since, useConnections } from '../support/sync/use-connections.ts';

const { api, connection, asked } = useConnections();
const incremental = incrementalBy('at');

describe('offset pages over rows that move', () => {
  const moving = (name: string) => {
    let rows = Array.from({ length: 40 }, (_, id) => ({ id, at: ago((100 - id) * 1000) }));
    let moved = false;
    api.serve(name, (query) => {
      const from = Number(query.get('offset'));
      const page = rows.slice(from, from + 10);
      if (!moved) {
        // Two rows of the page just read change and go to the end: all others come forward by two.
        const [first, second, ...rest] = rows;
        if (first && second) rows = [...rest, { ...first, at: ago(50) }, { ...second, at: ago(40) }];
        moved = true;
      }
      return { body: page };
    });
  };
  const resource = (overlap: number) => ({
    pagination: { kind: 'offset', size: 10, overlap, inject: { in: 'query', name: 'offset' } },
    incremental,
  });

  it('lose none, also where the spec says nothing of it', async () => {
    moving('shifting');
    const shifting = await connection('shifting', resource(0));
    expect(await shifting.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 42 } });
    expect(await idsOf(shifting)).toHaveLength(40);
  });

  it('lose none with an overlap, and nothing is delivered twice', async () => {
    moving('overlapping');
    const overlapping = await connection('overlapping', resource(5));
    // Forty, and two of them in a second version.
    expect(await overlapping.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 42 } });
    expect(await idsOf(overlapping)).toHaveLength(40);
  });
});

describe('a page token that the API has forgotten', () => {
  it('begins the window again; what was delivered is not delivered again', async () => {
    let forgets = 1;
    api.serve('forgetful', (query) => {
      const page = Number(query.get('page') ?? 1);
      if (page === 3 && forgets-- > 0) return { status: 410 };
      return { body: { data: [{ id: page }], next: page < 4 ? String(page + 1) : null } };
    });
    const forgetful = await connection('forgetful', {
      response: { records: 'data' },
      pagination: { ...byToken, onExpired: { status: [410], action: 'restart_window' } },
    });
    const run = await forgetful.sync();
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 6, recordsOut: 4, skipped: 2 } });
    expect(asked('forgetful').map((query) => query.get('page'))).toEqual([null, '2', '3', null, '2', '3', '4']);
  });
});

describe('a limit of the run', () => {
  const pages = (name: string, reply: () => { readonly status: number } | undefined = () => undefined) => {
    const rows = Array.from({ length: 50 }, (_, id) => ({ id: id + 100, at: ago((50 - id) * dayMs) }));
    api.serve(name, (query) => {
      const found = rows.filter(({ at }) => at >= (query.get('since') ?? ''));
      const from = Number(query.get('page') ?? 0);
      const rejection = from > 0 ? reply() : undefined;
      const next = from + 10 < found.length ? String(from + 10) : null;
      return rejection ?? { body: { data: found.slice(from, from + 10), next } };
    });
    return { request: since(name), response: { records: 'data' }, pagination: byToken, incremental };
  };

  it('maxRecords ends it as partial after the page that reaches it, and the next goes on from there', async () => {
    const bounded = { ...incremental, cursor: { ...incremental.cursor, missing: 'exclude' } };
    const parts = { ...pages('limited'), incremental: bounded, limits: { maxRecords: 25 } };
    const limited = await connection('limited', parts);
    const first = await limited.sync();
    expect(first).toMatchObject({ status: 'partial', error: null, statsJson: { recordsIn: 30, recordsOut: 30 } });
    const second = await limited.sync();
    expect(second).toMatchObject({ status: 'succeeded', watermarkBefore: first.watermarkAfter });
    expect(second.statsJson).toMatchObject({ recordsIn: 21, recordsOut: 20, skipped: 1 });
    expect(await idsOf(limited)).toHaveLength(50);
  });

  it('maxDurationSeconds ends it before a wait that would outlast it', async () => {
    let busy = true;
    const refuse = () => (busy ? { status: 429, headers: { 'retry-after': '1000' } } : undefined);
    const timed = await connection('timed', { ...pages('timed', refuse), limits: { maxDurationSeconds: 900 } });
    const first = await timed.sync();
    expect(first).toMatchObject({ status: 'partial', error: null, statsJson: { recordsIn: 10, recordsOut: 10 } });
    busy = false;
    expect(await timed.sync()).toMatchObject({ status: 'succeeded', watermarkBefore: first.watermarkAfter });
    expect(await idsOf(timed)).toHaveLength(50);
  });
});
