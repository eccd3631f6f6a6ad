import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { type Account } from '../support/sync/account.ts';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createAsked } from '../support/upstream/asked.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useSharedAccounts(api);
const asked = createAsked(() => shared().upstream);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();

interface Row {
  readonly id: number;
  readonly at: string;
  readonly name: string;
}

const fiveDays = (): Row[] => [1, 2, 3, 4, 5].map((id) => ({ id, at: day(id), name: 'a' }));

/** A resource that asks for what lies between two points of its cursor. */
function dated(key: string, rows: () => readonly Row[]) {
  api.serve(key, (query) => {
    const [since, until] = [query.get('since') ?? '', query.get('until') ?? '9'];
    return { body: rows().filter(({ at }) => at >= since && at <= until) };
  });
  return {
    key,
    request: { path: `/${key}`, query: { since: '{{ window.from }}', until: '{{ window.to }}' } },
    incremental: {
      kind: 'cursor',
      cursor: { field: 'at', type: 'datetime' },
      order: 'asc',
      settle: 'PT0S',
      initial: day(1),
    },
  };
}

const bounds = (name: string) =>
  asked(name).map(({ searchParams }) => [searchParams.get('since'), searchParams.get('until')]);

describe('a backfill', () => {
  it('reads from the beginning to the watermark, which stays, and delivers only what differs', async () => {
    const rows = fiveDays();
    await using of = await account({ key: 'past', resources: [dated('past', () => rows)] });
    await of.sync('past');
    rows.splice(1, 1, { id: 2, at: day(2), name: 'silently changed' });
    rows.push({ id: 6, at: day(9), name: 'new' });
    asked('past');
    expect(await of.backfill('past')).toMatchObject({
      trigger: 'backfill',
      status: 'succeeded',
      watermarkBefore: day(5),
      watermarkAfter: day(5),
      statsJson: { recordsIn: 5, recordsOut: 1, skipped: 4 },
    });
    expect(bounds('past')).toEqual([[day(1), day(5)]]);
    expect(await of.rows('past')).toMatchObject([{ name: 'a' }, { name: 'silently changed' }, {}, {}, {}]);

    expect(await of.sync('past')).toMatchObject({ watermarkBefore: day(5), statsJson: { recordsOut: 1, skipped: 1 } });
    expect(bounds('past')).toMatchObject([[day(5), expect.anything()]]);
  });

  it('begins at `from`, in any form that the cursor has', async () => {
    await using of = await account({ key: 'later', resources: [dated('later', fiveDays)] });
    await of.sync('later');
    asked('later');
    const run = await of.backfill('later', { from: '2025-01-03T01:00:00+01:00' });
    expect(run.statsJson).toMatchObject({ recordsIn: 3, recordsOut: 0 });
    expect(bounds('later')).toEqual([[day(3), day(5)]]);
  });

  it('delivers everything again by force', async () => {
    await using of = await account({ key: 'forced', resources: [dated('forced', fiveDays)] });
    await of.sync('forced');
    await of.destination.query('delete from forced where id::int > 2');
    expect((await of.backfill('forced')).statsJson).toMatchObject({ recordsOut: 0, skipped: 5 });
    expect((await of.backfill('forced', { force: true })).statsJson).toMatchObject({ recordsOut: 5, skipped: 0 });
    expect(await of.live('forced')).toEqual(['1', '2', '3', '4', '5']);
  });

  it('delivers a version by force that is older than the known one, which no other run does: its note is `stale`', async () => {
    const rows = fiveDays();
    const resource = dated('lagging', () => rows);
    const incremental = { ...resource.incremental, lookback: 'P2D' };
    await using of = await account({ key: 'lagging', resources: [{ ...resource, incremental }] });
    await of.sync('lagging');
    rows.splice(4, 1, { id: 5, at: day(4), name: 'older' });
    const stale = { status: 'succeeded', notes: { stale: 1 }, statsJson: { recordsOut: 0 } };
    expect(await of.sync('lagging')).toMatchObject(stale);
    expect(await of.backfill('lagging')).toMatchObject(stale);
    expect((await of.rows('lagging')).at(-1)).toMatchObject({ name: 'a' });
    expect(await of.backfill('lagging', { force: true })).toMatchObject({ status: 'succeeded', notes: {} });
    expect((await of.rows('lagging')).at(-1)).toMatchObject({ name: 'older' });
    expect(await of.sync('lagging')).toMatchObject({ notes: {}, statsJson: { recordsOut: 0 } });
  });

  it('that is the first read of all claims nothing: the sync after it reads from the beginning', async () => {
    await using of = await account({ key: 'early', resources: [dated('early', fiveDays)] });
    const run = await of.backfill('early', { from: day(4) });
    expect(run).toMatchObject({ watermarkBefore: null, watermarkAfter: null, statsJson: { recordsOut: 2 } });
    expect((await of.sync('early')).statsJson).toMatchObject({ recordsIn: 5, recordsOut: 3, skipped: 2 });
  });

  it('leaves the watermark of every partition as it is', async () => {
    const rows: Record<string, Row[]> = { a: fiveDays(), b: fiveDays().slice(0, 2) };
    const parts = dated('parts', () => []);
    api.serve('parts', (query, { url }) => ({
      body: rows[url.split(/[/?]/)[2] ?? '']?.filter(({ at }) => at >= (query.get('since') ?? '')),
    }));
    const resource = {
      ...parts,
      primaryKey: ['part', 'id'],
      forEach: [{ as: 'part', values: '{{ params.parts }}' }],
      request: { ...parts.request, path: '/parts/{{ each.part }}' },
      response: { addFields: { part: 'each.part' } },
    };
    await using of = await account({ key: 'parts', resources: [resource], params: { parts: ['a', 'b'] } });
    await of.sync('parts');
    const before = await of.watermarks('parts');
    rows['b']?.splice(0, 1, { id: 1, at: day(1), name: 'changed' });
    asked('parts');
    const run = await of.backfill('parts');
    expect(run).toMatchObject({ watermarkBefore: day(2), watermarkAfter: day(2), statsJson: { recordsOut: 1 } });
    expect(await of.watermarks('parts')).toEqual(before);
    // Both are asked for at once.
    const expected = [day(5), day(2)].map((until) => [day(1), until]);
    expect(new Set(bounds('parts'))).toEqual(new Set(expected));
  });

  it('reads the children of parents that did not change, too, and leaves later ones to the next sync', async () => {
    let parents = [1, 2].map((id) => ({ id, name: 'a' }));
    const children: Record<string, Row[]> = { 1: fiveDays(), 2: fiveDays() };
    api.serve('parents', () => ({ body: parents }));
    const child = dated('children', () => []);
    api.serve('children', (query, { url }) => {
      const [since, until] = [query.get('since') ?? '', query.get('until') ?? ''];
      return { body: children[url.split(/[/?]/)[2] ?? '']?.filter(({ at }) => at >= since && at <= until) };
    });
    const resource = {
      ...child,
      primaryKey: ['parent', 'id'],
      forEach: [{ as: 'parent', resource: 'parents', from: 'store', select: 'changed' }],
      request: { ...child.request, path: '/children/{{ each.parent.id }}' },
      response: { addFields: { parent: 'each.parent.id' } },
    };
    await using of = await account({ key: 'children', resources: [{ key: 'parents' }, resource] });
    await of.sync('parents');
    await of.sync('children');
    children[1]?.push({ id: 6, at: day(6), name: 'new' });
    parents = [{ id: 1, name: 'changed' }, ...parents.slice(1)];
    await of.sync('parents');
    children[2]?.splice(0, 1, { id: 1, at: day(1), name: 'changed' });

    expect((await of.backfill('children')).statsJson).toMatchObject({ recordsIn: 10, recordsOut: 1, skipped: 9 });
    expect((await of.sync('children')).statsJson).toMatchObject({ recordsIn: 2, recordsOut: 1, skipped: 1 });
  });

  it('waits in the lane of its resource', async () => {
    await using of = await account({ key: 'waits', resources: [dated('waits', fiveDays)] });
    const { upstream } = shared();
    const gate = upstream.hold(upstream.journal.length + 1);
    const sync = await of.request('waits');
    await gate.reached;
    const { status, id } = await of.ask('POST', '/backfill', { resource: 'waits' });
    expect(status).toBe('queued');
    gate.release();
    const [first, second] = [await of.ended(sync), await of.ended(id)];
    expect(second).toMatchObject({ status: 'succeeded', watermarkBefore: first.watermarkAfter });
    expect(Date.parse(second.startedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(first.finishedAt ?? ''));
  });
});

describe('asking for a backfill', () => {
  let of: Account;
  beforeAll(async () => {
    of = await account({ key: 'refusing', resources: [dated('refusing', fiveDays), { key: 'full' }] });
  });
  afterAll(() => of[Symbol.asyncDispose]());
  const call = (connectionId: string, body: object) =>
    shared().stack.org.call('POST', `/connections/${connectionId}/backfill`, { body });

  it.each([
    ['what is no value of the cursor', { resource: 'refusing', from: 'yesterday' }, 'from'],
    ['a time that is none', { resource: 'refusing', from: '2025-13-01' }, 'from'],
    ['a start of a resource without a cursor', { resource: 'full', from: day(1) }, 'from'],
    ['what is neither text nor number', { resource: 'refusing', from: true }, 'from'],
    ['a resource that is not there', { resource: 'other' }, 'resource'],
  ])('is refused for %s', async (_what, body, path) => {
    expect(await call(of.connectionId, body)).toMatchObject({ status: 400, body: { error: { issues: [{ path }] } } });
  });

  it('is refused while the connection is not active, and for one that is not there', async () => {
    await of.ask('POST', '/pause');
    expect((await call(of.connectionId, { resource: 'refusing' })).status).toBe(409);
    await of.ask('POST', '/activate');
    expect((await call(newId('con'), { resource: 'refusing' })).status).toBe(404);
  });
});
