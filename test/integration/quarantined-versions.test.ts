/** A quarantine row holds one version of a record, and the newest version that was read counts. */
import { describe, expect, it } from 'vitest';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useSharedAccounts(api);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();

interface Row {
  readonly id: number;
  readonly at?: string;
  readonly n: number | string;
  readonly gone?: boolean;
}

/** A resource whose transform takes numbers only, until it is {@link mended}. */
function numbered(key: string, rows: () => readonly Row[], parts: object = {}) {
  api.serve(key, (query) => ({ body: rows().filter(({ at = '' }) => at >= (query.get('since') ?? '')) }));
  return { key, transform: '{ "id": id, "n": $number(n) }', onInvalid: 'quarantine', ...parts };
}

/** From its watermark on. */
const incremental = (key: string) => ({
  request: { path: `/${key}`, query: { since: '{{ window.from }}' } },
  incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' },
});

const mended = <Resource extends object>(resource: Resource) => ({
  ...resource,
  transform: '{ "id": id, "n": n = "one" ? 1 : n = "two" ? 2 : $number(n) }',
});

const requeue = async (id = '') => await shared().stack.org.call('POST', `/quarantine/${id}/requeue`);

type Account = Awaited<ReturnType<typeof account>>;

const openRows = async (of: Account) =>
  (await of.quarantine()).filter(({ resolvedAt }) => resolvedAt === null).map(({ rawJson }) => rawJson);
const stored = async (of: Account, table: string) =>
  (await of.rows(table)).map(({ id, n }) => [Number(id), Number(n)] as const);

/** A run that has requested its first page, and so is past what it tries again, ends after `meanwhile`. */
async function whileReading(of: Account, key: string, meanwhile: () => Promise<unknown>) {
  const { upstream } = shared();
  const gate = upstream.hold(upstream.journal.length + 1);
  const run = await of.request(key);
  await gate.reached;
  await meanwhile();
  gate.release();
  return await of.ended(run);
}

it('a connection is degraded while records of it are in quarantine, however its runs end', async () => {
  let rows: readonly Row[] = [{ id: 1, at: day(1), n: 'bad' }];
  await using of = await account({ key: 'kept', resources: [numbered('kept', () => rows, incremental('kept'))] });
  const health = async () => (await of.ask('GET', '/freshness')).freshness.health;
  await of.sync('kept');
  expect(await of.sync('kept')).toMatchObject({ status: 'succeeded' });
  expect(await health()).toBe('degraded');
  rows = [{ id: 1, at: day(2), n: 1 }];
  await of.sync('kept');
  expect(await health()).toBe('healthy');
});

describe('of two invalid versions, of which the older is requeued while a run reads the newer,', () => {
  async function start(key: string) {
    let rows: readonly Row[] = [{ id: 1, at: day(1), n: 'one' }];
    const resource = numbered(key, () => rows, incremental(key));
    const of = await account({ key, resources: [resource] });
    expect((await of.sync(key)).statsJson).toMatchObject({ quarantined: 1 });
    const [first] = await of.quarantine();
    // The watermark passes the newer one with a record behind it.
    rows = [
      { id: 1, at: day(2), n: 'two' },
      { id: 2, at: day(3), n: 2 },
    ];
    expect((await whileReading(of, key, () => requeue(first?.id))).statsJson).toMatchObject({ quarantined: 1 });
    expect(await openRows(of)).toMatchObject([{ n: 'two' }]);
    return { of, resource };
  }

  it('the newer one stays open until it is requeued itself', async () => {
    const { of: connection } = await start('invalid');
    await using of = connection;
    await of.sync('invalid');
    expect(await openRows(of)).toMatchObject([{ n: 'two' }]);
  });

  it('the newer one is delivered once the spec is mended', async () => {
    const { of: connection, resource } = await start('amended');
    await using of = connection;
    await of.upgrade('2.0.0', [mended(resource)]);
    await shared().stack.org.call('POST', '/quarantine/requeue', { body: { connectionId: of.connectionId } });
    await of.sync('amended');
    expect(await stored(of, 'amended')).toEqual([
      [1, 2],
      [2, 2],
    ]);
    expect(await openRows(of)).toEqual([]);
  });
});

describe('where changes are not detected, a quarantined version', () => {
  it('ends with the newer one that is delivered, and cannot take its place', async () => {
    let rows: readonly Row[] = [{ id: 1, at: day(1), n: 'one' }];
    const parts = { ...incremental('undetected'), changeDetection: { mode: 'none' } };
    const resource = numbered('undetected', () => rows, parts);
    await using of = await account({ key: 'undetected', resources: [resource] });
    await of.sync('undetected');
    rows = [{ id: 1, at: day(2), n: 22 }];
    await of.sync('undetected');
    expect(await openRows(of)).toEqual([]);
    rows = [];
    await of.upgrade('2.0.0', [mended(resource)]);
    const { body } = await shared().stack.org.call('POST', '/quarantine/requeue', {
      body: { connectionId: of.connectionId },
    });
    expect(body).toEqual({ requeued: 0 });
    await of.sync('undetected');
    expect(await stored(of, 'undetected')).toEqual([[1, 22]]);
  });
});

describe('a record that is deleted and comes back invalid in one batch', () => {
  it('is quarantined, stays as it was, and is delivered when it is tried again', async () => {
    let rows: readonly Row[] = [{ id: 1, n: 1 }];
    const deletes = { mode: 'flag', when: 'gone = true', effect: 'soft' };
    const resource = numbered('revived', () => rows, { deletes });
    await using of = await account({ key: 'revived', resources: [resource] });
    await of.sync('revived');
    rows = [
      { id: 1, n: 1, gone: true },
      { id: 1, n: 'two' },
    ];
    expect((await of.sync('revived')).statsJson).toMatchObject({ deleted: 0, quarantined: 1 });
    expect(await of.live('revived')).toEqual(['1']);
    rows = [];
    const [open] = await of.quarantine();
    await requeue(open?.id);
    await of.upgrade('2.0.0', [mended(resource)]);
    expect((await of.sync('revived')).statsJson).toMatchObject({ recordsOut: 1 });
    expect([await of.live('revived'), await openRows(of)]).toEqual([['1'], []]);
  });
});

describe('a table that is appended to', () => {
  it('gets a quarantined version although a later one was delivered, and gets each version once', async () => {
    let rows: readonly Row[] = [{ id: 1, n: 'one' }];
    const resource = numbered('history', () => rows, { target: { table: 'history', mode: 'append' } });
    await using of = await account({ key: 'history', resources: [resource] });
    await of.sync('history');
    rows = [{ id: 1, n: 'two' }];
    await of.sync('history');
    rows = [{ id: 1, n: 33 }];
    expect((await of.sync('history')).statsJson).toMatchObject({ recordsOut: 1 });
    const open = await of.quarantine();
    expect(open).toMatchObject([
      { rawJson: { n: 'two' }, resolvedAt: null },
      { rawJson: { n: 'one' }, resolvedAt: null },
    ]);
    await of.upgrade('2.0.0', [mended(resource)]);
    for (const { id } of open) await requeue(id);
    await of.sync('history');
    await of.sync('history');
    const versions = await of.destination.query('select n::int from history order by _seq');
    // The last one is shaped anew by the mended spec.
    expect(versions).toEqual([33, 1, 2, 33].map((n) => ({ n })));
    expect(await openRows(of)).toEqual([]);
  });

  it('gets the last version once when it is tried again and read again by a mended spec', async () => {
    const rows: readonly Row[] = [{ id: 1, n: 'one' }];
    const resource = numbered('once', () => rows, { target: { table: 'once', mode: 'append' } });
    await using of = await account({ key: 'once', resources: [resource] });
    await of.sync('once');
    const [open] = await of.quarantine();
    await of.upgrade('2.0.0', [mended(resource)]);
    await requeue(open?.id);
    await of.sync('once');
    await of.sync('once');
    expect(await of.destination.query('select n::int from once')).toEqual([{ n: 1 }]);
  });

  it('has no open row of a version that is delivered when it is read again', async () => {
    const rows: readonly Row[] = [{ id: 1, n: 'one' }];
    const resource = numbered('again', () => rows, { target: { table: 'again', mode: 'append' } });
    await using of = await account({ key: 'again', resources: [resource] });
    await of.sync('again');
    await of.upgrade('2.0.0', [mended(resource)]);
    await of.sync('again');
    expect([await of.destination.query('select n::int from again'), await openRows(of)]).toEqual([[{ n: 1 }], []]);
  });
});

describe('a record that was never delivered and disappears', () => {
  const other: Row = { id: 2, n: 2 };

  it.each([
    ['a full scan', 'vanished', { mode: 'full_scan', minRecords: 100 }, [other]],
    ['a flag', 'flagged', { mode: 'flag', when: 'gone = true' }, [other, { id: 1, n: 'one', gone: true }]],
  ])('is no deletion, found by %s, and its row is closed', async (_, key, deletes, after) => {
    let rows: readonly Row[] = [other, { id: 1, n: 'one' }];
    const resource = numbered(key, () => rows, { deletes });
    await using of = await account({ key, resources: [resource] });
    expect((await of.sync(key)).statsJson).toMatchObject({ quarantined: 1 });
    rows = after;
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0 } });
    expect(await openRows(of)).toEqual([]);
    expect((await of.sync(key)).statsJson).toMatchObject({ deleted: 0 });
  });

  it('is a deletion if an earlier version of it was delivered', async () => {
    let rows: readonly Row[] = [other, { id: 1, n: 1 }];
    const resource = numbered('known', () => rows, { deletes: { mode: 'full_scan', minRecords: 100 } });
    await using of = await account({ key: 'known', resources: [resource] });
    await of.sync('known');
    rows = [other, { id: 1, n: 'two' }];
    await of.sync('known');
    rows = [other];
    expect((await of.sync('known')).statsJson).toMatchObject({ deleted: 1 });
    expect([await of.live('known'), await openRows(of)]).toEqual([['2'], []]);
  });
});

it('a record in quarantine is of its account: after a param has chosen another, it is not tried again', async () => {
  let rows: readonly Row[] = [
    { id: 1, n: 'one' },
    { id: 2, n: 2 },
    { id: 3, n: 'bad' },
  ];
  const resource = numbered('accounts_of', () => rows);
  const auth = { kind: 'basic', username: '{{ params.area[0] }}' };
  await using of = await account({
    key: 'accounts-of',
    resources: [resource],
    params: { area: ['a'] },
    spec: { auth },
  });
  await of.sync('accounts_of');
  expect(await openRows(of)).toHaveLength(2);
  await of.ask('PATCH', '', { params: { area: ['b'] } });
  // The other account has other records under the same ids, one of them still invalid.
  rows = [
    { id: 2, n: 22 },
    { id: 3, n: 'bad' },
  ];
  for (const { id } of await of.quarantine()) await requeue(id);
  await of.upgrade('1.1.0', [mended(resource)], { auth });
  expect((await of.sync('accounts_of')).statsJson).toMatchObject({ recordsOut: 1, quarantined: 1 });
  expect(await stored(of, 'accounts_of')).toEqual([[2, 22]]);
  expect(await openRows(of)).toEqual([{ id: 3, n: 'bad' }]);
});
