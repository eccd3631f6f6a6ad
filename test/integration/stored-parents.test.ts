import { describe, expect, it } from 'vitest';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';
import type { UpstreamRequest } from '../support/upstream/upstream.ts';

const api = createScriptedApi();
const { account } = useSharedAccounts(api);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();
const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' };
/** The second segment of a path. */
const partOf = ({ url }: Pick<UpstreamRequest, 'url'>): string => url.split(/[/?]/)[2] ?? '';

interface Owner {
  readonly id: number;
  readonly at: string;
  readonly [field: string]: unknown;
}

/** Owners `{name}`, read by their cursor, and `{name}_pets`, read once per stored owner. */
function family(
  name: string,
  { owners, above = {} }: { readonly owners: () => readonly Owner[]; readonly above?: object },
) {
  const pets = `${name}_pets`;
  const asked: string[] = [];
  api.serve(name, (query) => ({ body: owners().filter(({ at }) => at >= (query.get('since') ?? '')) }));
  api.serve(pets, (query, request) => {
    asked.push([partOf(request), query.get('state')].filter((part) => part !== null).join(' '));
    return { body: [{ id: `of ${partOf(request)}` }] };
  });
  const parent = {
    key: name,
    request: { path: `/${name}`, query: { since: '{{ window.from }}' } },
    incremental,
    ...above,
  };
  const child = (parts: object = {}) => ({
    key: pets,
    forEach: [{ as: 'owner', resource: name, from: 'store', select: 'changed' }],
    request: { path: `/${pets}/{{ each.owner.id }}` },
    ...parts,
  });
  return { parent, child, takeAsked: () => asked.splice(0).toSorted() };
}

describe('parents that are stored', () => {
  it('are not those that only a table still has: their children are read whole without them', async () => {
    let owners = [1, 2].map((id) => ({ id, at: day(id) }));
    const { parent, child, takeAsked } = family('kept', { owners: () => owners });
    const below = child({ forEach: [{ as: 'owner', resource: 'kept', from: 'store' }] });
    await using of = await account({ key: 'kept', resources: [parent, below] });
    await of.sync('kept');
    await of.destination.query('drop table _css_checkpoint');
    owners = [1, 3].map((id) => ({ id, at: day(id) }));
    await of.sync('kept');
    expect(await of.live('kept')).toEqual(['1', '2', '3']);
    expect(await of.sync('kept_pets')).toMatchObject({ status: 'succeeded', notes: {} });
    expect(takeAsked()).toEqual(['1', '3']);
  });

  it('are stored again for a resource below them that comes back, with the fields that they had', async () => {
    const owners = [1, 2].map((id) => ({ id, at: day(id) }));
    const { parent, child, takeAsked } = family('again', { owners: () => owners });
    await using of = await account({ key: 'again', resources: [parent, child()] });
    await of.sync('again');
    await of.upgrade('1.1.0', [parent]);
    await of.sync('again');
    await of.upgrade('1.2.0', [parent, child()]);
    await of.sync('again');
    expect(await of.sync('again_pets')).toMatchObject({ status: 'succeeded', notes: {} });
    expect(takeAsked()).toEqual(['1', '2']);
  });

  it('have children of their own under another key: what was read for another parent of that name does not count', async () => {
    const owners = [
      { id: 1, number: 2, at: day(1) },
      { id: 2, number: 1, at: day(2) },
    ];
    const pets = [
      { id: 'a', owner: 1, at: day(100) },
      { id: 'b', owner: 2, at: day(3) },
    ];
    const { parent, child } = family('rekeyed', { owners: () => owners });
    api.serve('rekeyed_pets', (query, request) => ({
      body: pets.filter(({ owner, at }) => String(owner) === partOf(request) && at >= (query.get('since') ?? '')),
    }));
    const request = { path: '/rekeyed_pets/{{ each.owner.id }}', query: { since: '{{ window.from }}' } };
    const below = child({ request, incremental });
    await using of = await account({ key: 'rekeyed', resources: [parent, below] });
    await of.sync('rekeyed');
    await of.sync('rekeyed_pets');
    await of.upgrade('2.0.0', [{ ...parent, primaryKey: 'number' }, below]);
    pets.push({ id: 'c', owner: 2, at: day(50) });
    await of.sync('rekeyed');
    await of.sync('rekeyed_pets');
    expect(await of.live('rekeyed_pets')).toEqual(['a', 'b', 'c']);
  });

  it.each([
    ['fetched', {}],
    ['said to be unchanged', { cache: { mode: 'conditional' } }],
  ])(
    'by another name have their records delivered again, once, although those are %s as they were',
    async (what, cache) => {
      const name = `named_${what.split(' ', 1)[0]}`;
      let owners = [1, 2].map((id) => ({ id, at: day(id), name: 'old', mood: 'good' }));
      const { parent, child } = family(name, { owners: () => owners });
      api.serve(`${name}_pets`, (_query, request) =>
        request.headers['if-none-match'] === '"1"'
          ? { status: 304 }
          : { body: [{ id: `of ${partOf(request)}` }], headers: { etag: '"1"' } },
      );
      const request = { path: `/${name}_pets/{{ each.owner.id }}`, query: { mood: '{{ each.owner.mood }}' }, ...cache };
      const below = child({ request, transform: "{ 'id': id, 'owner': $each.owner.name }" });
      await using of = await account({ key: name.replace('_', '-'), resources: [parent, below] });
      const sync = async () => {
        await of.sync(name);
        return (await of.sync(`${name}_pets`)).statsJson.recordsOut;
      };
      expect(await sync()).toBe(2);
      owners = owners.map((owner) => (owner.id === 2 ? { ...owner, name: 'new', at: day(9) } : owner));
      expect(await sync()).toBe(1);
      expect((await of.rows(`${name}_pets`)).map(({ owner }) => owner)).toEqual(['old', 'new']);
      owners = owners.map((owner) => (owner.id === 2 ? { ...owner, mood: 'bad', at: day(10) } : owner));
      expect(await sync()).toBe(0);
      expect(await sync()).toBe(0);
    },
  );
});

describe('parents under another key of which a run has delivered a part before it failed', () => {
  it.each([
    ['deletes none of a full scan', 'scanned', { deletes: { mode: 'full_scan', maxRatio: 1 } }],
    ['leaves a table that is replaced as it was', 'replaced', { target: { mode: 'replace', maxRatio: 1 } }],
  ])('are incomplete: a run of their children %s', async (_what, name, parts) => {
    const owners = [1, 2].map((id) => ({ id, number: 10 + id }));
    let broken = false;
    const { parent, child } = family(name, { owners: () => [] });
    api.serve(name, (query) => {
      const page = Number(query.get('page') ?? 1);
      if (page === 2 && broken) return { status: 400 };
      return { body: { data: owners.slice(page - 1, page), next: page === 1 ? 2 : null } };
    });
    const above = {
      key: parent.key,
      response: { records: 'data' },
      pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } },
    };
    const forEach = [{ as: 'owner', resource: name, from: 'store' }];
    const below = child({ forEach, request: { path: `/${name}_pets/{{ each.owner.number }}` }, ...parts });
    await using of = await account({ key: name, resources: [above, below] });
    await of.sync(name);
    await of.sync(below.key);
    const both = ['of 11', 'of 12'];
    expect(await of.live(below.key)).toEqual(both);
    await of.upgrade('2.0.0', [{ ...above, primaryKey: 'number' }, below]);
    broken = true;
    expect(await of.sync(name)).toMatchObject({ status: 'failed', statsJson: { recordsOut: 1 } });
    const left = { status: 'partial', notes: { parents_incomplete: 2 }, statsJson: { deleted: 0 } };
    expect(await of.sync(below.key)).toMatchObject(left);
    expect(await of.live(below.key)).toEqual(both);
    broken = false;
    await of.sync(name);
    expect(await of.sync(below.key)).toMatchObject({ status: 'succeeded', notes: {}, statsJson: { deleted: 0 } });
    expect(await of.live(below.key)).toEqual(both);
  });
});

describe('an upgrade', () => {
  const twoOwners = () => [1, 2].map((id) => ({ id, at: day(id), state: 'open' }));

  it('that adds a resource below parents has its first run read the children of all of them, of which none is synced', async () => {
    const { parent, child } = family('below', { owners: twoOwners });
    const asked: string[] = [];
    api.serve('below_toys', (_query, request) => {
      asked.push(partOf(request));
      return { body: [{ id: `toy of ${partOf(request)}` }] };
    });
    const toys = { ...child(), key: 'below_toys', request: { path: '/below_toys/{{ each.owner.id }}' } };
    await using of = await account({ key: 'below', resources: [parent, child()] });
    await of.sync('below');
    await of.sync('below_pets');
    await of.upgrade('1.1.0', [parent, child(), toys]);
    expect(await of.sync('below_toys')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2 } });
    expect(asked.toSorted()).toEqual(['1', '2']);
  });

  it.each([
    ['after the parents', false],
    ['before the parents', true],
  ])(
    'to a request with another field of parents has the children of all of them read with it, %s',
    async (_when, isFirst) => {
      const name = isFirst ? 'early' : 'late';
      const { parent, child, takeAsked } = family(name, { owners: twoOwners });
      await using of = await account({ key: name, resources: [parent, child()] });
      await of.sync(name);
      await of.sync(`${name}_pets`);
      takeAsked();
      const request = { path: `/${name}_pets/{{ each.owner.id }}`, query: { state: '{{ each.owner.state }}' } };
      await of.upgrade('2.0.0', [parent, child({ request })]);
      if (isFirst) {
        expect(await of.sync(`${name}_pets`)).toMatchObject({ status: 'partial', notes: { parents_incomplete: 1 } });
        expect(takeAsked()).toEqual([]);
      }
      await of.sync(name);
      expect(await of.sync(`${name}_pets`)).toMatchObject({ status: 'succeeded' });
      expect(takeAsked()).toEqual(['1 open', '2 open']);
      await of.sync(`${name}_pets`);
      expect(takeAsked()).toEqual([]);
    },
  );
});
