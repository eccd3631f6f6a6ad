import { expect, it } from 'vitest';
import { checkSpec } from './check.ts';

type Part = Readonly<Record<string, unknown>>;

const parent = { key: 'parents', primaryKey: 'id', request: { path: '/parents' } };
const child = { key: 'children', primaryKey: 'id', request: { path: '/children/{{ each.parent.id }}' } };
const values = { as: 'region', values: '{{ ["eu"] }}' };

const areas = { assignTo: 'areas', kind: 'request', request: { path: '/areas' }, keyBy: 'id', value: 'id' };

const issuesOf = (changes: Part, changesOfParent: Part = {}, http: Part = {}) => {
  const checked = checkSpec({
    metadata: { key: 'acme', name: 'Acme', version: '1.0.0' },
    http: { baseUrl: 'https://api.example.com', ...http },
    lookups: [areas],
    resources: [
      { ...parent, ...changesOfParent },
      { ...child, ...changes },
    ],
  });
  return checked.valid ? [] : checked.issues.map(({ path, message }) => `${path}: ${message}`);
};

const over = (dimension: Part, ...more: readonly Part[]) => ({
  forEach: [{ as: 'parent', resource: 'parents', ...dimension }, ...more],
});

/** An entry that names no parent of its own. */
const without = (dimension: Part) => ({ forEach: [{ as: 'parent', ...dimension }] });

it.each<[string, Part, Part?]>([
  ['parents from the store', over({ from: 'store' })],
  ['changed parents', over({ from: 'store', select: 'changed' })],
  [
    'changed parents whose children show a table from the API',
    { ...over({ from: 'store', select: 'changed' }), transform: "{ 'id': id, 'area': $lookups.areas.eu }" },
  ],
  [
    'changed parents whose children are requested with a header of a table from the API',
    {
      ...over({ from: 'store', select: 'changed' }),
      request: { path: '/children', headers: { 'x-token': '{{ $lookups.areas.eu }}' } },
    },
  ],
  ['parents that are read live', over({ from: 'live' })],
  ['parents with partitions of their own from the store', over({ from: 'store' }, values), { forEach: [values] }],
  ['parents with partitions of their own, read live', over({}), { forEach: [values] }],
  ['changed parents beside values', over({ from: 'store', select: 'changed' }, values)],
  ['parents that are not kept, read live', over({}), { changeDetection: { mode: 'none' } }],
  [
    'a scan of partitions that changed',
    { ...over({ from: 'store', select: 'changed' }), deletes: { mode: 'full_scan', scope: 'partition' } },
  ],
  [
    'a flag without change detection',
    { ...over({}), changeDetection: { mode: 'none' }, deletes: { mode: 'flag', when: 'gone' } },
  ],
])('takes %s', (_what, changes, changesOfParent) => {
  expect(issuesOf(changes, changesOfParent)).toEqual([]);
});

it.each<[string, string, Part, Part?]>([
  [
    'stored parents that are not kept',
    'resources.1.forEach.0.from: the records',
    over({ from: 'store' }),
    { changeDetection: { mode: 'none' } },
  ],
  [
    'stored parents of a replaced table',
    'resources.1.forEach.0.from: the records',
    over({ from: 'store' }),
    { target: { mode: 'replace' } },
  ],
  [
    'changed parents that are read live',
    'resources.1.forEach.0.select: `changed` needs `from',
    over({ select: 'changed' }),
  ],
  [
    'a scan of everything over changed parents',
    'resources.1.deletes.scope: a run',
    { ...over({ from: 'store', select: 'changed' }), deletes: { mode: 'full_scan' } },
  ],
  [
    'a table replaced by changed partitions',
    'resources.1.target.mode: a run',
    { ...over({ from: 'store', select: 'changed' }), target: { mode: 'replace' } },
  ],
  [
    'groups of changed parents',
    'resources.1.forEach.0.select: `changed` needs a partition',
    over({ from: 'store', select: 'changed', value: 'id', group: { size: 2 } }),
  ],
  [
    'changed parents whose children a table from the API chooses',
    'resources.1.filter: a table from the API decides',
    { ...over({ from: 'store', select: 'changed' }), filter: '$exists($lookup($lookups.areas, area))' },
  ],
  [
    'changed parents whose children are requested by a table from the API',
    'resources.1.request.query: a table from the API decides',
    {
      ...over({ from: 'store', select: 'changed' }),
      request: { path: '/children/{{ each.parent.id }}', query: { areas: '{{ $keys($lookups.areas) }}' } },
    },
  ],
  [
    'changed parents whose children a table from the API chooses through a field',
    'resources.1.response.map: a table from the API decides',
    {
      ...over({ from: 'store', select: 'changed' }),
      response: { records: 'data', map: "$merge([$, { 'area': $lookup($lookups.areas, area) }])" },
      filter: '$exists(area)',
    },
  ],
  [
    'changed parents whose children the clock chooses',
    'resources.1.filter: the result changes with the time',
    { ...over({ from: 'store', select: 'changed' }), filter: 'at <= $now()' },
  ],
  ['a group of whole records', 'resources.1.forEach.0.value: a group', over({ group: { size: 2 } })],
  [
    'a group of whole records of a union',
    'resources.1.forEach.0.union.1.value: a group',
    without({ union: [{ values: '{{ [1] }}' }, { resource: 'parents' }], group: { size: 2 } }),
  ],
  [
    'a list of deleted records of a group',
    'resources.1.deletes.request: a group',
    {
      ...over({ value: 'id', group: { size: 2 } }),
      deletes: { mode: 'endpoint', request: { path: '/gone/{{ each.parent }}' }, key: 'id' },
    },
  ],
  [
    'a scan that compares groups',
    'resources.1.deletes.scope: a group',
    { ...over({ value: 'id', group: { size: 2 } }), deletes: { mode: 'full_scan', scope: 'partition' } },
  ],
  [
    'a field of a value that is no record',
    'resources.1.forEach.0.value: `value` is',
    without({ values: '{{ [1] }}', value: 'id' }),
  ],
  [
    'a union beside a list of its own',
    'resources.1.forEach.0: expected exactly one of `values`, `resource` and `union`',
    over({ union: [{ values: '{{ [1] }}' }] }),
  ],
  [
    'a list of a union without a source',
    'resources.1.forEach.0.union.0: expected exactly one of `values` and `resource`',
    without({ union: [{}] }),
  ],
  [
    'an unknown resource in a union',
    'resources.1.forEach.0.union.0.resource: there is no resource',
    without({ union: [{ resource: 'nothing' }] }),
  ],
  [
    'a scan without change detection',
    'resources.1.deletes.mode: this mode',
    { ...over({}), changeDetection: { mode: 'none' }, deletes: { mode: 'full_scan' } },
  ],
  [
    'deletes in a replaced table',
    'resources.1.deletes.mode: a replaced',
    { ...over({}), target: { mode: 'replace' }, deletes: { mode: 'flag', when: 'gone' } },
  ],
])('refuses %s', (_what, expected, changes, changesOfParent) => {
  expect(issuesOf(changes, changesOfParent)).toEqual([expect.stringContaining(expected)]);
});

it('refuses a table from the API in the query of all requests, where children of changed parents are read', () => {
  const http = { query: { areas: '{{ $keys($lookups.areas) }}' } };
  expect(issuesOf(over({ from: 'store' }), {}, http)).toEqual([]);
  expect(issuesOf(over({ from: 'store', select: 'changed' }), {}, http)).toEqual([
    expect.stringContaining('http.query: a table from the API decides'),
  ]);
});
