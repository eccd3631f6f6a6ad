import { describe, expect, it } from 'vitest';
import { useAccounts } from '../support/sync/use-accounts.ts';
import { createAsked } from '../support/upstream/asked.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useAccounts(api);
const asked = createAsked(() => shared().upstream);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();

/** Notes of owners, read for several owners in one request. */
function notesOf(key: string, notes: readonly { readonly id: number; readonly owner: string; readonly at: string }[]) {
  api.serve(key, (query) => {
    const owners = (query.get('owners') ?? '').split(',');
    return { body: notes.filter(({ owner, at }) => owners.includes(owner) && at >= (query.get('since') ?? '')) };
  });
  return {
    key,
    request: { path: `/${key}`, query: { owners: '{{ each.owner }}', since: '{{ window.from }}' } },
    incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'none', settle: 'PT0S' },
  };
}

const requestsOf = (key: string) =>
  asked(key)
    .map(({ searchParams }) => [searchParams.get('owners') ?? '', searchParams.get('since')] as const)
    .toSorted(([one], [other]) => one.localeCompare(other));

describe('a group of values', () => {
  it('is one request with a watermark of its own, and one whose values change is read from the beginning', async () => {
    const notes = [
      { id: 1, owner: 'a', at: day(5) },
      { id: 2, owner: 'b', at: day(6) },
      { id: 3, owner: 'c', at: day(1) },
      { id: 4, owner: 'd', at: day(2) },
    ];
    const people = ['a', 'b', 'c'];
    api.serve('people', () => ({ body: people.map((id) => ({ id })) }));
    const forEach = [{ as: 'owner', resource: 'people', value: 'id', group: { size: 2, join: ',' } }];
    const resources = [{ ...notesOf('grouped', notes), forEach }, { key: 'people' }];
    await using of = await account({ key: 'grouped', resources });
    expect(await of.sync('grouped')).toMatchObject({ status: 'succeeded', watermarkAfter: day(1) });
    expect(requestsOf('grouped')).toEqual([
      ['a,b', null],
      ['c', null],
    ]);
    expect(await of.sync('grouped')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0 } });
    expect(requestsOf('grouped')).toEqual([
      ['a,b', day(6)],
      ['c', day(1)],
    ]);

    // The new value has a record that is older than every watermark.
    notes.push({ id: 5, owner: 'd', at: day(1) });
    people.push('d');
    expect(await of.sync('grouped')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2 } });
    expect(requestsOf('grouped')).toEqual([
      ['a,b', day(6)],
      ['c,d', null],
    ]);
    expect(await of.live('grouped')).toEqual(['1', '2', '3', '4', '5']);
  });

  it('may be of stored or live parents', async () => {
    api.serve('owners', () => ({ body: ['a', 'b', 'c'].map((ref, id) => ({ id, ref: { code: ref } })) }));
    const notes = ['a', 'b', 'c'].map((owner, id) => ({ id, owner, at: day(1) }));
    const over = (key: string, from: string) => ({
      ...notesOf(key, notes),
      forEach: [{ as: 'owner', resource: 'owners', from, value: 'ref.code', group: { size: 2, join: ',' } }],
    });
    const resources = [{ key: 'owners' }, over('by_live', 'live'), over('by_store', 'store')];
    await using of = await account({ key: 'parents', resources });
    expect(await of.sync('owners')).toMatchObject({ status: 'succeeded' });
    for (const key of ['by_live', 'by_store']) {
      expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 3 } });
      expect(requestsOf(key)).toEqual([
        ['a,b', null],
        ['c', null],
      ]);
    }
    expect(await shared().stack.db.selectFrom('runDimensions').select('no').execute()).toEqual([]);
  });

  it('of a parent without the value fails the run and says which', async () => {
    api.serve('bare', () => ({ body: [{ id: 1 }] }));
    const forEach = [{ as: 'owner', resource: 'bare', value: 'code', group: { size: 2, join: ',' } }];
    await using of = await account({
      key: 'bare',
      resources: [{ key: 'bare' }, { ...notesOf('of_bare', []), forEach }],
    });
    expect(await of.sync('of_bare')).toMatchObject({
      status: 'failed',
      error: { code: 'spec_invalid', message: expect.stringContaining('a record of bare has no value at "code"') },
    });
  });
});

describe('a union of parents', () => {
  it('reads the resource for each parent of each list, also where their ids are equal', async () => {
    api.serve('offices', () => ({ body: [{ id: 1, place: 'o1' }] }));
    api.serve('homes', () => ({ body: [{ id: 1, place: 'h1' }] }));
    api.serve('rooms', (query) => ({ body: [{ id: `room of ${query.get('place')}` }] }));
    const rooms = {
      key: 'rooms',
      forEach: [
        {
          as: 'place',
          union: [
            { resource: 'offices', from: 'store', value: 'place' },
            { resource: 'homes', value: 'place' },
            { values: '{{ ["x"] }}' },
          ],
        },
      ],
      request: { path: '/rooms', query: { place: '{{ each.place }}' } },
      deletes: { mode: 'full_scan' },
    };
    await using of = await account({ key: 'union', resources: [{ key: 'offices' }, { key: 'homes' }, rooms] });
    await of.sync('offices');
    expect(await of.sync('rooms')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 3, deleted: 0 } });
    expect(await of.live('rooms')).toEqual(['room of h1', 'room of o1', 'room of x']);
    expect(await of.sync('rooms')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0, deleted: 0 } });
  });
});
