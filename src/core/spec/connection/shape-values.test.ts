import { describe, expect, test } from 'vitest';
import { specDocument } from '../../../../test/support/upstream/api-fixtures.ts';
import { checkSpec } from '../check/check.ts';
import { changeOf, shapeEach, storedShapeOf, unfinished } from './shape-values.ts';

const [item] = specDocument().resources;

function digestOf(parts: object): (each: object) => string {
  const thing = {
    ...item,
    key: 'things',
    forEach: [
      { as: 'owner', resource: 'items', from: 'store' },
      { as: 'area', values: '{{ ["eu"] }}' },
    ],
    request: { path: '/{{ each.area }}/{{ each.owner.id }}', query: { state: '{{ each.owner.state }}' } },
    target: { table: 'things' },
    ...parts,
  };
  const checked = checkSpec({ ...specDocument(), resources: [item, thing] });
  if (!checked.valid) throw new Error(JSON.stringify(checked.issues));
  return shapeEach(checked.spec, 'things') as (each: object) => string;
}

const each = { owner: { id: 1, state: 'open', name: 'a' }, area: 'eu' };
const renamed = { ...each, owner: { ...each.owner, name: 'b' } };

test.each<[string, object]>([
  ['transform', { transform: "{ 'id': id, 'of': $each.owner.name }" }],
  [
    'an enrichment',
    { enrich: [{ assignTo: 'x', key: '$each.owner.name', request: { path: '/x/{{ each.owner.name }}' } }] },
  ],
  ['the mark of deleted records', { deletes: { mode: 'flag', when: '$each.owner.name = name' } }],
  [
    'an added field beside a field that says what has changed',
    {
      response: { records: 'data', addFields: { of: 'each.owner.name' } },
      changeDetection: { mode: 'field', field: 'v' },
    },
  ],
])('counts where %s reads it, and no other field of it', (_by, parts) => {
  const digest = digestOf(parts);
  expect(digest(each)).not.toBe(digest(renamed));
  expect(digest(each)).toBe(digest({ owner: { ...each.owner, state: 'closed' }, area: 'us' }));
});

test.each<[string, object]>([
  ['only requests read it', {}],
  ['the record has it', { response: { records: 'data', addFields: { of: 'each.owner.name' } } }],
])('is no part of a fingerprint where %s', (_by, parts) => {
  expect(digestOf(parts)(each)).toBe('');
});

test.each<[string, string]>([
  ['all of a value', "{ 'id': id, 'of': $each.owner }"],
  ['all values', "{ 'id': id, 'of': $each }"],
])('counts whole where %s is read', (_what, transform) => {
  const digest = digestOf({ transform });
  expect(digest(each)).not.toBe(digest({ ...each, owner: { ...each.owner, state: 'closed' } }));
});

const table = { kind: 'request', request: { path: '/areas' }, keyBy: 'id', value: 'name' };

/** The change that a partition shows once a table has other content. */
function changeBy(parts: object) {
  const lookups = ['areas', 'other'].map((assignTo) => ({ ...table, assignTo }));
  const checked = checkSpec({ ...specDocument(), lookups, resources: [{ ...item, ...parts }] });
  if (!checked.valid) throw new Error(JSON.stringify(checked.issues));
  const shapeWith = (areas: object) =>
    storedShapeOf(checked.spec, 'items', { lookups: { areas, other: areas }, redact: (text) => text })({});
  expect(shapeWith({ eu: 'Europe', us: 'States' })).toBe(shapeWith({ us: 'States', eu: 'Europe' }));
  return changeOf(shapeWith({ eu: 'Europe' }), shapeWith({ eu: 'Europe', us: 'States' }));
}

const inMap = { response: { records: 'data', map: "{ 'id': id, 'area': $lookup($lookups.areas, area) }" } };

test.each<[string, object, 'shape' | 'read' | null]>([
  ['the filter', { filter: '$exists($lookup($lookups.areas, area))' }, 'shape'],
  ['the mark of deleted records', { deletes: { mode: 'flag', when: '$lookups.areas.eu = area' } }, 'shape'],
  ['the map of what is filtered', { ...inMap, filter: "area = 'Europe'" }, 'shape'],
  ['a request', { request: { path: '/items', query: { areas: '{{ $keys($lookups.areas) }}' } } }, 'read'],
  ['the map of what is not filtered', inMap, null],
  ['a transform', { filter: 'area', transform: "{ 'id': id, 'area': $lookup($lookups.areas, area) }" }, null],
])('a table from the API that %s reads decides by its content', (_by, parts, change) => {
  expect(changeBy(parts)).toBe(change);
});

describe('the values of a partition', () => {
  const of = (parts: object, http: object = {}) => {
    const document = { ...specDocument(), lookups: [{ ...table, assignTo: 'areas' }] };
    const thing = {
      ...{ ...item, key: 'things', target: { table: 'things' } },
      forEach: [{ as: 'owner', resource: 'items', from: 'store' }],
      ...parts,
    };
    const checked = checkSpec({ ...document, http: { ...document.http, ...http }, resources: [item, thing] });
    if (!checked.valid) throw new Error(JSON.stringify(checked.issues));
    return storedShapeOf(checked.spec, 'things', { lookups: { areas: {} }, redact: (text) => text });
  };
  const asked = { request: { path: '/things', query: { in: '{{ each.owner.state }}' } } };
  const closed = { owner: { ...each.owner, state: 'closed' } };

  test.each([
    ['baseUrl', 'https://api.example.com/{{ each.owner.state }}'],
    ['query', { in: '{{ each.owner.state }}' }],
    ['headers', { in: '{{ each.owner.state }}' }],
  ])('decide over requests in http.%s', (name, value) => {
    const shape = of({ request: { path: '/things' } }, { [name]: value });
    expect(changeOf(shape(each), shape(closed))).toBe('read');
  });

  test('change requests although a later spec reads others for the records, and stay changed until they are read', () => {
    const later = of({ ...asked, transform: "{ 'id': id, 'of': $each.owner.name }" });
    const before = of(asked)(each);
    expect(changeOf(before, later(closed))).toBe('read');
    expect(changeOf(before, later(each))).toBeNull();
    expect(changeOf(unfinished(before ?? '', 'read'), later(each))).toBe('read');
  });
});
