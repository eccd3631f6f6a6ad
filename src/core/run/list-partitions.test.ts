import * as v from 'valibot';
import { afterAll, describe, expect, it } from 'vitest';
import { createTestEvaluator } from '../expressions/evaluator-fixture.ts';
import type { HttpClient } from '../model/http.ts';
import { type ListPosition, listBegin } from '../model/run-position.ts';
import { classified, sourceOf } from '../source/source-fixture.ts';
import { ConnectorSpec } from '../spec/schema/spec-schema.ts';
import { listPartitions } from './list-partitions.ts';
import type { DimensionValue, Parent, RunStore } from './run-store.ts';

const evaluator = createTestEvaluator({ size: 1 });

afterAll(() => evaluator[Symbol.asyncDispose]());

describe('values of the spec', () => {
  it('are partitions by their text, and by canonical JSON where they are no texts', async () => {
    const { values, end } = await listed({ forEach: [{ as: 'a', values: '{{ ["x", 1, {"b": 1, "a": 2}] }}' }] });
    expect(values.map(({ key }) => key)).toEqual(['x', '1', '{"a":2,"b":1}']);
    expect(end).toMatchObject({ dimension: 1 });
  });

  it('that are no list fail the run, and name the entry', async () => {
    const failed = listed({ forEach: [{ as: 'year', values: '{{ "2026" }}' }] });
    await expect(failed).rejects.toMatchObject({ code: 'spec_invalid', message: expect.stringContaining('"year"') });
  });
});

describe('stored parents', () => {
  const forEach = [{ as: 'parent', resource: 'parents', from: 'store' }];

  it('are listed a thousand at a time, each with the position after it', async () => {
    const parents = Array.from({ length: 1001 }, (_, no) => parent(String(no).padStart(4, '0')));
    const { values, positions, asked } = await listed({ forEach, parents });
    expect(values).toHaveLength(1001);
    expect(positions.map(({ dimension, after }) => [dimension, after])).toEqual([
      [0, '0999'],
      [1, null],
    ]);
    expect(asked.map(({ after }) => after)).toEqual([null, '0999']);
  });

  it('are not listed again by a later attempt, which goes on behind the last', async () => {
    const at = { ...listBegin, after: 'a', listedAt: '2026-01-01T00:00:00.000Z' };
    const { values, cleared } = await listed({ forEach, parents: [parent('a'), parent('b')], at });
    expect(values.map(({ key }) => key)).toEqual(['b']);
    expect(cleared).toEqual([]);
  });

  it('count as seen from the earliest list on, so that none that changed meanwhile is missed', async () => {
    const earlier = { ...listBegin, listedAt: '2026-01-01T00:00:00.000Z' };
    const later = { ...listBegin, listedAt: '2026-03-01T00:00:00.000Z' };
    expect((await listed({ forEach, at: earlier })).end?.listedAt).toBe('2026-01-01T00:00:00.000Z');
    expect((await listed({ forEach, at: later })).end?.listedAt).toBe(listingInstant);
  });

  it('are left out where `when` does not hold; the condition must not fail', async () => {
    const parents = [parent('a', { open: true }), parent('b', { open: false })];
    const when = [{ as: 'parent', resource: 'parents', from: 'store', when: 'open' }];
    expect((await listed({ forEach: when, parents })).values.map(({ key }) => key)).toEqual(['a']);
    const failing = [{ as: 'parent', resource: 'parents', from: 'store', when: '$number(open) > 0' }];
    const failed = listed({ forEach: failing, parents: [parent('a', { open: 'no number' })] });
    await expect(failed).rejects.toMatchObject({ code: 'spec_invalid' });
  });

  it('give the field that the spec names, and fail the run when they have none', async () => {
    const named = [{ as: 'parent', resource: 'parents', from: 'store', value: 'owner.id' }];
    const { values } = await listed({ forEach: named, parents: [parent('a', { owner: { id: 7 } })] });
    expect(values).toEqual([{ key: 'a', value: 7 }]);
    const failed = listed({ forEach: named, parents: [parent('a', { owner: null })] });
    await expect(failed).rejects.toMatchObject({ code: 'spec_invalid' });
  });

  it('of which some may be missing leave the run incomplete, and prove nothing of the others', async () => {
    const incomplete = { gaps: ['parents_incomplete'], incomplete: true };
    expect((await listed({ forEach, parents: [parent('a')], isComplete: [false, true] })).end).toMatchObject(
      incomplete,
    );
    // They were forgotten meanwhile.
    expect((await listed({ forEach, parents: [], isComplete: [true, false] })).end).toMatchObject(incomplete);
    const { values, end } = await listed({ forEach, parents: [parent('a'), parent('b', null)] });
    expect(values.map(({ key }) => key)).toEqual(['a']);
    expect(end).toMatchObject(incomplete);
    expect((await listed({ forEach, parents: [parent('a')] })).end).toMatchObject({ gaps: [], incomplete: false });
  });

  it('that changed are enough for a sync of a single entry; a backfill reads all of them', async () => {
    const changed = [{ as: 'parent', resource: 'parents', from: 'store', select: 'changed' }];
    expect((await listed({ forEach: changed })).asked).toMatchObject([{ select: 'changed' }]);
    expect((await listed({ forEach: changed, backfill: true })).asked).toMatchObject([{ select: 'all' }]);
    const two = [...changed, { as: 'kind', values: '{{ [1] }}' }];
    expect((await listed({ forEach: two, steps: 1 })).asked).toMatchObject([{ select: 'all' }]);
  });
});

describe('parents that are read live', () => {
  const forEach = [{ as: 'parent', resource: 'parents', from: 'live' }];

  it('are stored page by page, each with the position after it', async () => {
    const pages = [[{ id: 1 }, { id: 2 }], [{ id: 3 }]];
    const { values, positions } = await listed({ forEach, pages });
    expect(values.map(({ key }) => key)).toEqual(['1', '2', '3']);
    expect(positions.map(({ dimension, read }) => [dimension, read?.pagesRead])).toEqual([
      [0, 1],
      [1, undefined],
    ]);
  });

  it('are left out where they have no id, or `when` does not hold', async () => {
    const when = [{ as: 'parent', resource: 'parents', from: 'live', when: 'open' }];
    const { values } = await listed({ forEach: when, pages: [[{ id: 1, open: true }, { id: 2 }, { open: true }]] });
    expect(values.map(({ key }) => key)).toEqual(['1']);
  });

  it('of which one has no readable key leave the run incomplete', async () => {
    const { end } = await listed({ forEach, pages: [[{ id: 1 }, { ident: 2 }]] });
    expect(end).toMatchObject({ gaps: ['key_missing'], incomplete: true });
  });

  it('whose list begins at some time are not all there are', async () => {
    const incremental = {
      kind: 'cursor',
      cursor: { field: 'at', type: 'datetime' },
      order: 'none',
      initial: 'now-P30D',
    };
    expect((await listed({ forEach, pages: [[{ id: 1 }]], incremental })).end?.gaps).toEqual(['parents_incomplete']);
  });

  it('have gaps where a response does not show them, from which no deletion follows', async () => {
    expect((await listed({ forEach, pages: [[{ id: 1 }]] })).end?.gaps).toEqual([]);
    expect((await listed({ forEach, pages: [404] })).end?.gaps).not.toEqual([]);
  });

  it('fail the run when the API rejects their whole list, instead of leaving all children out', async () => {
    const failed = listed({ forEach, pages: [403] });
    await expect(failed).rejects.toMatchObject({ code: 'source_rejected' });
  });

  it('of a part that the API rejects are left out, and the run is incomplete', async () => {
    const parts = [{ as: 'part', values: '{{ ["p", "q"] }}' }];
    const { values, end } = await listed({ forEach, pages: [403], parts, otherPages: [[{ id: 5 }]] });
    expect(values.map(({ key }) => key)).toEqual(['5']);
    expect(end).toMatchObject({ dimension: 2, gaps: ['partition_skipped'], incomplete: true, part: null });
  });
});

const listingInstant = '2026-02-01T00:00:00.000Z';

const parent = (externalId: string, fields: Parent['fields'] = {}): Parent => ({ externalId, fields });

/** The records of a page; a number: the status of an error. */
type TestPage = readonly object[] | number;

interface World {
  readonly forEach: readonly object[];
  readonly at?: ListPosition;
  readonly backfill?: boolean;
  /** Stored parents. */
  readonly parents?: readonly Parent[];
  /** Whether they are all; true unless given. */
  /** At first, and then. */
  readonly isComplete?: readonly [boolean, boolean];
  /** Of the parents that are read live. */
  readonly incremental?: object;
  /** Pages of the parents that are read live, and those of any part but the first. */
  readonly pages?: readonly TestPage[];
  readonly otherPages?: readonly TestPage[];
  /** `forEach` of the parents. */
  readonly parts?: readonly object[];
  /** Lists after which it is told to stop. */
  readonly steps?: number;
}

/** Makes the lists of a resource, and returns what was stored. */
async function listed({ forEach, at = listBegin, parents = [], parts = [], ...world }: World) {
  const { resources } = v.parse(ConnectorSpec, {
    metadata: { key: 'test', name: 'Test', version: '1.0.0' },
    http: { baseUrl: 'https://api.test' },
    resources: [
      { key: 'items', primaryKey: 'id', request: { path: '/' }, forEach },
      {
        key: 'parents',
        primaryKey: 'id',
        request: { path: parts.length === 0 ? '/p' : '/{{ each.part }}' },
        forEach: parts,
        response: { records: 'data' },
        ...(world.incremental && { incremental: world.incremental }),
        pagination: { kind: 'page', totalPages: 'body.pages', inject: { in: 'query', name: 'page' } },
        errors: [
          { when: { status: [403] }, action: 'skip_partition' },
          { when: { status: [404] }, action: 'empty' },
        ],
      },
    ],
  });
  const findResource = (key: string) => {
    const found = resources.find((resource) => resource.key === key);
    if (!found) throw new Error(`no resource ${key}`);
    return found;
  };
  const client: HttpClient = {
    async send(request, { classify }) {
      const { url } = request;
      const pages = (url.pathname === '/p' ? world.pages : world.otherPages) ?? [];
      const page = pages[Number(url.searchParams.get('page')) - 1] ?? [];
      const status = typeof page === 'number' ? page : 200;
      const body = Buffer.from(JSON.stringify({ data: page, pages: pages.length }));
      const response = { status, headers: {}, url, body };
      return await classified(response, request, classify);
    },
    logSaved: async () => {},
    logBlocked: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  const open = (key: string) => {
    const resource = findResource(key);
    const backfill = world.backfill ? { from: null } : null;
    const source = sourceOf({ api: { origin: 'https://api.test' }, evaluator, resource: {} }, { client });
    return { resource, source: { ...source, resource, backfill } as typeof source };
  };
  const lists = new Map<number, DimensionValue[]>();
  const positions: ListPosition[] = [];
  const cleared: number[] = [];
  const complete = [...(world.isComplete ?? [])];
  const asked: Parameters<RunStore['parents']>[1][] = [];
  const store = {
    async clearDimension(list) {
      cleared.push(list);
      lists.delete(list);
    },
    async addToDimension(list, values, position) {
      lists.set(list, [...(lists.get(list) ?? []), ...values]);
      positions.push(position as ListPosition);
      if (world.steps !== undefined && (position as ListPosition).dimension === world.steps) throw stopped;
    },
    dimensionCounts: async (wanted) => wanted.map((list) => lists.get(list)?.length ?? 0),
    async dimensionValue(list, no) {
      const value = lists.get(list)?.[no];
      if (!value) throw new Error(`list ${list} has no value ${no}`);
      return value;
    },
    listingInstant: async () => listingInstant,
    isComplete: async () => complete.shift() ?? true,
    async parents(_key, options) {
      asked.push(options);
      const { after, limit } = options;
      return parents.filter(({ externalId }) => after === null || externalId > after).slice(0, limit);
    },
  } satisfies Partial<RunStore> as unknown as RunStore;
  const listing = { ...open('items'), store, findResource, openParent: async (key: string) => open(key) };
  const end = await listPartitions(listing, at, { signal: new AbortController().signal }).catch((error: unknown) => {
    if (error === stopped) return null;
    throw error;
  });
  return { values: lists.get(0) ?? [], positions, cleared, asked, end };
}

const stopped = new Error('stopped');
