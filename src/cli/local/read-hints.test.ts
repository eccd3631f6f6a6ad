import { describe, expect, test } from 'vitest';
import { checkSpec } from '../../core/spec/check/check.ts';
import { readHints } from './read-hints.ts';

const resourceOf = (parts: Readonly<Record<string, unknown>>) => {
  const checked = checkSpec({
    metadata: { key: 'things', name: 'Things', version: '1.0.0' },
    http: { baseUrl: 'https://things.test' },
    resources: [{ key: 'things', primaryKey: 'id', request: { path: '/things' }, ...parts }],
  });
  if (!checked.valid) throw new Error(JSON.stringify(checked.issues));
  const [resource] = checked.spec.resources;
  if (resource === undefined) throw new Error('There is no resource');
  return resource;
};

const page = (count: number) => Array.from({ length: count }, (_, id) => ({ id }));
const hintsOf = (
  parts: Readonly<Record<string, unknown>>,
  pages: readonly (readonly unknown[])[],
  {
    rows = [],
    isWhole = true,
    query = {},
  }: { readonly rows?: readonly unknown[]; readonly isWhole?: boolean; readonly query?: Record<string, string> } = {},
) =>
  readHints(resourceOf(parts), { pages, rows, isWhole, http: { baseUrl: 'https://things.test', query, headers: {} } });

const inject = { in: 'query', name: 'p' };
const byToken = { pagination: { kind: 'cursor', next: 'body.next', inject, size: 40 } };
const byNumber = { pagination: { kind: 'page', inject, size: 100 } };

describe('a read that may have ended too early', () => {
  test.each([
    ['no pagination', {}, [page(50)], 'The only page has exactly 50 records, which may be a limit of the API.'],
    [
      'a full page without a token',
      byToken,
      [page(40), page(40)],
      'The last page has exactly 40 records, and pagination.next (body.next) finds nothing',
    ],
    ['an API that caps pages', byToken, [page(25)], 'The only page has exactly 25 records, and pagination.next'],
    ['a full page without a link', { pagination: { kind: 'link_header', size: 7 } }, [page(7)], 'no Link header'],
    ['a page that is cut', byNumber, [page(50)], 'fewer than pagination.size (100), so it counts as the last.'],
  ])('is named: %s', (_what, parts, pages, words) => {
    expect(hintsOf(parts, pages)).toEqual([expect.stringContaining(words)]);
    expect(hintsOf(parts, pages, { isWhole: false })).toEqual([]);
  });

  test.each([
    ['an uneven number without pagination', {}, [page(37)]],
    ['a short last page', byToken, [page(40), page(3)]],
    ['nothing', byToken, [[]]],
    ['an empty page at the end of numbered ones', byNumber, [page(100), []]],
    ['a list for each parent', { forEach: [{ as: 'x', values: '{{ [1] }}' }] }, [page(50)]],
  ])('is not suspected of a read that ends with %s', (_what, parts, pages) => {
    expect(hintsOf(parts, pages)).toEqual([]);
  });
});

describe('a cursor that the records do not have', () => {
  const by = (cursor: Readonly<Record<string, unknown>>) => ({
    incremental: { kind: 'cursor', cursor, order: 'none', clientFilter: true },
  });
  test.each([
    ['datetime', [1_795_576_550_586], 'that is no datetime', 'Use type: epoch_ms.'],
    ['datetime', ['1795576550'], 'that is no datetime', 'Use type: epoch_s.'],
    ['epoch_s', ['2026-01-01T00:00:00Z'], 'that is no epoch_s', 'Use type: datetime.'],
    ['date', ['soon'], 'that is no date', 'Correct type or format.'],
  ])('of type %s in %j is named, with one that fits', (type, values, what, advice) => {
    const hints = hintsOf(by({ field: 'at', type }), [values.map((at) => ({ at }))]);
    expect(hints).toEqual([
      expect.stringMatching(new RegExp(`^1 of 1 record has a value at "at" ${what} .*${advice}$`)),
    ]);
  });

  test('is named when no record has the field, and not when some have it', () => {
    const updated = by({ field: 'meta.at', type: 'datetime' });
    expect(hintsOf(updated, [page(3)])).toEqual([expect.stringContaining('No record has a value at "meta.at"')]);
    expect(hintsOf(updated, [[{ id: 1 }, { id: 2, meta: { at: '2026-01-01T00:00:00Z' } }]])).toEqual([]);
  });
});

test('columns that no row has a value for are named; null is a value', () => {
  const properties = { id: {}, name: {}, city: {} };
  const parts = { transform: '$', validate: { schema: { type: 'object', properties } } };
  expect(hintsOf(parts, [], { rows: [{ id: 1, city: null }, { id: 2 }] })).toEqual([
    'No row has a value for name. If the API has one, correct its path in transform.',
  ]);
  expect(hintsOf(parts, [], { rows: [] })).toEqual([]);
});

describe('a list that may move while it is read', () => {
  const by = (pagination: Readonly<Record<string, unknown>>, parts: Readonly<Record<string, unknown>> = {}) => ({
    pagination: { kind: 'offset', inject, size: 3, ...pagination },
    ...parts,
  });
  const cursor = { kind: 'cursor', cursor: { field: 'id', type: 'integer' }, order: 'none', clientFilter: true };
  const listed = { mode: 'endpoint', request: { path: '/gone' }, key: 'id' };
  const pages = [page(3), page(2)];

  test('is named where its pages have numbers and nothing shows that one slips past', () => {
    expect(hintsOf(by({}), pages)).toEqual([
      expect.stringMatching(/slip past unread, until .* pagination\.overlap: 1/),
    ]);
    expect(hintsOf(by({}, { deletes: listed }), pages)).toHaveLength(1);
  });

  test.each<[string, Readonly<Record<string, unknown>>]>([
    ['has one page', by({ size: 9 })],
    ['says whether its pages overlap', by({ overlap: 0 })],
    ['only grows at its end', by({ stable: true })],
    ['is read from a cursor on: its pages overlap', by({}, { incremental: cursor })],
    ['shows what is deleted: its pages overlap', by({}, { deletes: { mode: 'full_scan' } })],
    ['is marked: its pages overlap', by({}, { deletes: { mode: 'flag', when: 'gone' } })],
    ['makes a table anew: its pages overlap', by({}, { target: { table: 't', mode: 'replace' } })],
    ['is marked and does not move', by({ stable: true }, { deletes: { mode: 'flag', when: 'gone' } })],
    ['has page numbers, which cannot overlap', by({ kind: 'page' })],
  ])('is not named where it %s', (what, parts) => {
    expect(hintsOf(parts, what === 'has one page' ? [page(3)] : pages)).toEqual([]);
  });

  test.each([
    ['full_scan', 'page', { mode: 'full_scan' }, 'slip past unread, which is then deleted. Remove stable'],
    ['full_scan', 'offset', { mode: 'full_scan' }, 'slip past unread, which is then deleted. Remove stable'],
    ['endpoint', 'page', listed, 'slip past unread. Remove stable'],
  ])('is named where it is `stable` although records leave it: %s, by %s', (_mode, kind, deletes, words) => {
    expect(hintsOf(by({ kind, stable: true }, { deletes }), pages)).toEqual([expect.stringContaining(words)]);
  });
});

describe('a cursor that bounds nothing', () => {
  const incremental = { kind: 'cursor', cursor: { field: 'id', type: 'integer' }, order: 'none' };
  const since = { path: '/things', query: { since: '{{ window.from }}' } };
  test('is named, as each run reads everything', () => {
    expect(hintsOf({ incremental }, [page(3)])).toEqual([expect.stringContaining('No request has window.from')]);
    expect(hintsOf({ incremental, request: since }, [page(3)])).toEqual([]);
    expect(hintsOf({ incremental }, [page(3)], { query: { since: '{{ window.from }}' } })).toEqual([]);
    expect(hintsOf({ incremental: { ...incremental, clientFilter: true } }, [page(3)])).toEqual([]);
  });
});

describe('a list of several pages in no order, by a cursor that is no time', () => {
  const request = { path: '/things', query: { since: '{{ window.from }}' } };
  const hints = (cursor: object, rest: object = {}, pages = [page(3), page(2)]) =>
    hintsOf(
      { request, incremental: { kind: 'cursor', cursor: { field: 'id', ...cursor }, order: 'none', ...rest } },
      pages,
    );

  test('is named, as its watermark stays at the first page', () => {
    expect(hints({ type: 'integer' })).toEqual([expect.stringContaining('set incremental.lookback')]);
  });

  test('is not named where the order, a lookback, one page or the filter of the service makes it whole', () => {
    expect(hints({ type: 'integer' }, { order: 'asc' })).toEqual([]);
    expect(hints({ type: 'integer' }, { lookback: 100 })).toEqual([]);
    expect(hints({ type: 'integer' }, { clientFilter: true })).toEqual([]);
    expect(hints({ type: 'integer' }, {}, [page(3)])).toEqual([]);
  });
});
