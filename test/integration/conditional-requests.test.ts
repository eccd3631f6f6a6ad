import { describe, expect, it } from 'vitest';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';
import type { UpstreamRequest } from '../support/upstream/upstream.ts';

const api = createScriptedApi();
const { account, shared } = useSharedAccounts(api);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();

interface Row {
  readonly id: number;
  readonly at: string;
  readonly name?: string;
}

/** What a test changes of an API. */
interface Collection {
  rows: readonly Row[];
  /** Records of a page; absent: 10. */
  readonly size?: number;
  /** Page 2 responds with 400. */
  broken?: boolean;
}

/**
 * A resource that is asked for conditionally, and its API: it gives an ETag with every page and 304 to a request that brings
 * the one that still holds.
 */
function cached(key: string, collection: Collection, parts: Readonly<Record<string, unknown>> = {}) {
  api.serve(key, (query, { headers }) => {
    const rows = collection.rows.filter(({ at }) => at >= (query.get('since') ?? ''));
    const page = Number(query.get('page') ?? 1);
    if (page === 2 && collection.broken) return { status: 400 };
    const { size = 10 } = collection;
    const data = rows.slice((page - 1) * size, page * size);
    const etag = `"${page}-${data.map(({ id, name }) => `${id}${name ?? ''}`).join('.')}"`;
    if (headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
    return { headers: { etag }, body: { data, next: rows.length > page * size ? page + 1 : null } };
  });
  return {
    key,
    request: { path: `/${key}`, query: { since: '{{ window.from }}' }, cache: { mode: 'conditional' } },
    response: { records: 'data' },
    pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } },
    ...parts,
  };
}

/** `If-None-Match` of every request to a path, oldest first. */
const conditions = (key: string): readonly (string | undefined)[] =>
  shared()
    .upstream.journal.filter(({ url }: UpstreamRequest) => url.split(/[/?]/)[1] === key)
    .map(({ headers }) => headers['if-none-match']);

const three = () => [1, 2, 3].map((id) => ({ id, at: day(id) }));

describe('a conditional request', () => {
  it('whose response is 304 ends the read without records; the call log shows that a cache had it', async () => {
    const collection = { rows: three() };
    await using of = await account({ key: 'same', resources: [cached('same', collection)] });
    expect(await of.sync('same')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 3 } });
    const second = await of.sync('same');
    expect(second).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 0, recordsOut: 0, skipped: 0 } });
    expect(conditions('same')).toEqual([undefined, '"1-1.2.3"']);
    const calls = await of.calls(second.id);
    expect(calls).toMatchObject([{ statusCode: 304, cacheHit: true }]);

    collection.rows = [...collection.rows, { id: 4, at: day(4) }];
    expect((await of.sync('same')).statsJson).toMatchObject({ recordsIn: 4, recordsOut: 1 });
    expect((await of.sync('same')).statsJson).toMatchObject({ recordsIn: 0 });
    expect(conditions('same').at(-1)).toBe('"1-1.2.3.4"');
  });

  it('keeps the watermark, and goes on keeping what it compares with', async () => {
    const cursor = { field: 'at', type: 'datetime' };
    const incremental = { kind: 'cursor', cursor, order: 'asc', settle: 'PT0S' };
    const collection = { rows: three() };
    await using of = await account({ key: 'kept', resources: [cached('kept', collection, { incremental })] });
    await of.sync('kept');
    // The second asks from the watermark, which is another request.
    await of.sync('kept');
    const unchanged = { watermarkBefore: day(3), watermarkAfter: day(3), statsJson: { recordsIn: 0 } };
    expect(await of.sync('kept')).toMatchObject(unchanged);
    expect(await of.sync('kept')).toMatchObject(unchanged);
    expect(conditions('kept')).toEqual([undefined, undefined, '"1-3"', '"1-3"']);
  });

  it('is not made for a list of several pages: a change on a later one does not change the first', async () => {
    const collection: Collection = { rows: three(), size: 2 };
    await using of = await account({ key: 'paged', resources: [cached('paged', collection)] });
    await of.sync('paged');
    collection.rows = [...three().slice(0, 2), { id: 3, at: day(3), name: 'new' }, { id: 4, at: day(4) }];
    expect(await of.sync('paged')).toMatchObject({ statsJson: { recordsIn: 4, recordsOut: 2, skipped: 2 } });
    expect(conditions('paged').every((condition) => condition === undefined)).toBe(true);
  });

  it('does not hold a read up whose watermark more records have than a page holds', async () => {
    const cursor = { field: 'at', type: 'datetime' };
    const incremental = { kind: 'cursor', cursor, order: 'asc', settle: 'PT0S' };
    const collection: Collection = { rows: [1, 2, 3].map((id) => ({ id, at: day(3) })), size: 2 };
    await using of = await account({ key: 'ties', resources: [cached('ties', collection, { incremental })] });
    await of.sync('ties');
    await of.sync('ties');
    collection.rows = [...collection.rows, { id: 4, at: day(4) }];
    expect(await of.sync('ties')).toMatchObject({ watermarkAfter: day(4), statsJson: { recordsOut: 1 } });
    expect(await of.live('ties')).toEqual(['1', '2', '3', '4']);
  });

  it('is made only after a read that came to its end', async () => {
    const collection: Collection = { rows: three(), size: 2, broken: true };
    await using of = await account({ key: 'partly', resources: [cached('partly', collection)] });
    expect((await of.sync('partly')).status).toBe('failed');
    collection.broken = false;
    expect(await of.sync('partly')).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 3 } });
    expect(conditions('partly').some((condition) => condition !== undefined)).toBe(false);
  });

  it('is not made after the spec has changed: records are shaped otherwise now', async () => {
    const resource = cached('shaped', { rows: three() });
    await using of = await account({ key: 'shaped', resources: [resource] });
    await of.sync('shaped');
    await of.upgrade('2.0.0', [{ ...resource, transform: '{ "id": id, "at": at, "new": 1 }' }]);
    expect((await of.sync('shaped')).statsJson).toMatchObject({ recordsIn: 3, recordsOut: 3 });
    expect((await of.sync('shaped')).statsJson).toMatchObject({ recordsIn: 0 });
    expect(conditions('shaped')).toEqual([undefined, undefined, '"1-1.2.3"']);
  });

  it('is not made by a backfill', async () => {
    await using of = await account({ key: 'again', resources: [cached('again', { rows: three() })] });
    await of.sync('again');
    expect((await of.backfill('again', { force: true })).statsJson).toMatchObject({ recordsIn: 3, recordsOut: 3 });
  });

  it('that is full hides no record that comes in behind it', async () => {
    const collection: Collection = { rows: [1, 2, 3].map((id) => ({ id, at: day(1) })), size: 3 };
    const pagination = { kind: 'cursor', size: 3, next: 'body.next', inject: { in: 'query', name: 'page' } };
    await using of = await account({ key: 'brimful', resources: [cached('brimful', collection, { pagination })] });
    await of.sync('brimful');
    await of.sync('brimful');
    collection.rows = [...collection.rows, { id: 4, at: day(1) }];
    await of.sync('brimful');
    expect(await of.live('brimful')).toEqual(['1', '2', '3', '4']);
  });

  it('whose response is 304 deletes nothing: it is no full read', async () => {
    const collection = { rows: three() };
    const deletes = { mode: 'full_scan', maxRatio: 1 };
    await using of = await account({ key: 'unread', resources: [cached('unread', collection, { deletes })] });
    await of.sync('unread');
    expect(await of.sync('unread')).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 0, deleted: 0 } });
    expect(await of.live('unread')).toEqual(['1', '2', '3']);
    collection.rows = three().slice(0, 2);
    expect((await of.sync('unread')).statsJson).toMatchObject({ recordsIn: 2, deleted: 1 });
  });

  it('is not made while deletes are held back: they would be forgotten', async () => {
    const collection = { rows: three() };
    const deletes = { mode: 'full_scan', maxRatio: 0, minRecords: 0 };
    await using of = await account({ key: 'held', resources: [cached('held', collection, { deletes })] });
    await of.sync('held');
    collection.rows = three().slice(0, 2);
    for (let time = 0; time < 2; time += 1) expect(await of.sync('held')).toMatchObject({ status: 'partial' });
    expect(await of.live('held')).toEqual(['1', '2', '3']);
  });

  it('is not made for a table that is replaced, which would be empty then', async () => {
    const replaced = cached('replaced', { rows: three() }, { target: { mode: 'replace' } });
    await using of = await account({ key: 'replaced', resources: [replaced] });
    await of.sync('replaced');
    expect(await of.sync('replaced')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 3 } });
    expect(await of.live('replaced')).toEqual(['1', '2', '3']);
  });
});
