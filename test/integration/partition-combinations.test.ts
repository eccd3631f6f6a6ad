import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createPartsAsked, partsOf } from '../support/upstream/asked.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useSharedAccounts(api);

const partsAsked = createPartsAsked(() => shared().upstream);

interface Row {
  readonly id: string;
  readonly name: string;
}
const rowsOf = (...ids: readonly string[]): Row[] => ids.map((id) => ({ id, name: 'a' }));
const renamed = (rows: readonly Row[], id: string): Row[] =>
  rows.map((row) => (row.id === id ? { ...row, name: `${row.name}+` } : row));

const changed = (as: string, resource: string) => ({ as, resource, from: 'store', select: 'changed' });

/** Accounts, and a report of each that is read once per account and other values. */
function reports(prefix: string, accounts: () => readonly Row[], others: readonly Readonly<Record<string, unknown>>[]) {
  const [parents, children] = [`${prefix}_accounts`, `${prefix}_reports`];
  api.serve(parents, () => ({ body: accounts() }));
  api.serve(children, (_query, request) => ({ body: [{ id: partsOf(request) }] }));
  const path = others.map(({ as, resource }) => `/{{ each.${String(as)}${resource === undefined ? '' : '.id'} }}`);
  return [
    { key: parents },
    {
      key: children,
      forEach: [changed('account', parents), ...others],
      request: { path: `/${children}/{{ each.account.id }}${path.join('')}` },
    },
  ] as const;
}

const overKinds = [{ as: 'kind', values: '{{ params.kinds }}' }];

describe('changed parents beside other entries', () => {
  it('are read with every other value once, and again when they change; a new value is read with all of them', async () => {
    let accounts = rowsOf('1', '2');
    const resources = reports('grid', () => accounts, overKinds);
    await using of = await account({ key: 'grid', resources, params: { kinds: ['x', 'y'] } });
    const both = async () => {
      await of.sync('grid_accounts');
      const { status } = await of.sync('grid_reports');
      return { status, asked: partsAsked('grid_reports') };
    };
    expect(await both()).toEqual({ status: 'succeeded', asked: ['1/x', '1/y', '2/x', '2/y'] });
    expect(await both()).toEqual({ status: 'succeeded', asked: [] });
    accounts = renamed(accounts, '2');
    expect(await both()).toEqual({ status: 'succeeded', asked: ['2/x', '2/y'] });
    await of.ask('PATCH', '', { params: { kinds: ['x', 'y', 'z'] } });
    expect(await both()).toEqual({ status: 'succeeded', asked: ['1/z', '2/z'] });
    accounts = [...accounts, ...rowsOf('3')];
    expect(await both()).toEqual({ status: 'succeeded', asked: ['3/x', '3/y', '3/z'] });
    expect(await of.live('grid_reports')).toEqual(['1', '2', '3'].flatMap((id) => [`${id}/x`, `${id}/y`, `${id}/z`]));
    const { db, org } = shared().stack;
    expect(await db.selectFrom('runDimensions').select('no').where('orgId', '=', org.orgId).execute()).toEqual([]);
  });

  it('may be several: a combination is read when any of its parents changed', async () => {
    let [accounts, places] = [rowsOf('1', '2'), rowsOf('p', 'q')];
    api.serve('pair_places', () => ({ body: places }));
    const resources = reports('pair', () => accounts, [changed('place', 'pair_places')]);
    await using of = await account({ key: 'pair', resources: [{ key: 'pair_places' }, ...resources] });
    const all = async () => {
      await of.sync('pair_places');
      await of.sync('pair_accounts');
      await of.sync('pair_reports');
      return partsAsked('pair_reports');
    };
    expect(await all()).toEqual(['1/p', '1/q', '2/p', '2/q']);
    places = renamed(places, 'q');
    expect(await all()).toEqual(['1/q', '2/q']);
    [accounts, places] = [renamed(accounts, '1'), renamed(places, 'p')];
    expect(await all()).toEqual(['1/p', '1/q', '2/p']);
    expect(await all()).toEqual([]);
  });

  it('are asked for again where their read failed, and nowhere else', async () => {
    let isBroken = true;
    const resources = reports('torn', () => rowsOf('1', '2'), overKinds);
    api.serve('torn_reports', (_query, request) =>
      isBroken && partsOf(request) === '2/x' ? { status: 400 } : { body: [{ id: partsOf(request) }] },
    );
    await using of = await account({ key: 'torn', resources, params: { kinds: ['x', 'y'] } });
    await of.sync('torn_accounts');
    expect((await of.sync('torn_reports')).status).toBe('failed');
    partsAsked('torn_reports');
    isBroken = false;
    expect(await of.sync('torn_reports')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2 } });
    expect(partsAsked('torn_reports')).toEqual(['2/x', '2/y']);
  });

  it('are all read by a backfill, which leaves what changed to the next sync', async () => {
    let accounts = rowsOf('1', '2');
    const resources = reports('past', () => accounts, overKinds);
    await using of = await account({ key: 'past', resources, params: { kinds: ['x'] } });
    await of.sync('past_accounts');
    await of.sync('past_reports');
    accounts = renamed(accounts, '1');
    await of.sync('past_accounts');
    partsAsked('past_reports');
    await of.backfill('past_reports');
    expect(partsAsked('past_reports')).toEqual(['1/x', '2/x']);
    await of.sync('past_reports');
    expect(partsAsked('past_reports')).toEqual(['1/x']);
  });

  it('are compared in full however many there are', async () => {
    const ids = Array.from({ length: 50 }, (_, no) => String(no));
    const kinds = ids.map((no) => `k${no}`);
    const resources = reports('many', () => rowsOf(...ids), overKinds);
    await using of = await account({ key: 'many', resources, params: { kinds } });
    await of.sync('many_accounts');
    await of.ask('PATCH', '', { params: { kinds: [] } });
    await of.sync('many_reports');
    await of.ask('PATCH', '', { params: { kinds } });
    const unread = new Set(['["0","k0"]', '["39","k49"]', '["40","k0"]', '["49","k49"]']);
    const all = ids.flatMap((id) => kinds.map((kind) => JSON.stringify([id, kind])));
    const { db } = shared().stack;
    await sql`
      insert into partitions (org_id, lane_id, partition, listed_at)
      select org_id, id, unnest(${all.filter((key) => !unread.has(key))}::text[]), now() from lanes
      where connection_id = ${of.connectionId} and resource_key = 'many_reports'`.execute(db);
    expect((await of.sync('many_reports')).status).toBe('succeeded');
    expect(partsAsked('many_reports')).toEqual(['0/k0', '39/k49', '40/k0', '49/k49']);
  });
});
