import { describe, expect, it } from 'vitest';
import { specDocument } from '../../../../test/support/upstream/api-fixtures.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { checkSpec } from '../check/check.ts';
import type { ConnectorSpec } from '../schema/spec-schema.ts';
import { findResource } from './find-resource.ts';
import { changedFacets, type Facet, meaningOf } from './meaning.ts';

const [item] = specDocument().resources;
const resourceOf = (key: string, parts: object) => ({ ...item, key, target: { table: key }, ...parts });

function specOf(resources: Readonly<Record<string, object>>, parts: object = {}): ConnectorSpec {
  const document = {
    ...specDocument(),
    connectionParams: [{ key: 'area', type: 'string' }],
    ...parts,
    resources: Object.entries(resources).map(([key, resource]) => resourceOf(key, resource)),
  };
  const checked = checkSpec(document);
  if (!checked.valid) throw new Error(JSON.stringify(checked.issues));
  return checked.spec;
}

const meaning = (spec: ConnectorSpec, key: string, params: JsonObject = {}) =>
  meaningOf(spec, findResource(spec, key), params);

/** What changes of the resource `things` when its definition does. */
const changedBy = (before: object, after: object): readonly Facet[] =>
  changedFacets(meaning(specOf({ things: before }), 'things'), meaning(specOf({ things: after }), 'things'));

/** What changes of it when the param `area` does. */
function changedByArea(things: object, parts: object = {}): readonly Facet[] {
  const spec = specOf({ things }, parts);
  return changedFacets(meaning(spec, 'things', { area: 'eu' }), meaning(spec, 'things', { area: 'us' }));
}

const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc' };

describe('the facts of a resource that is read once per record of others', () => {
  const fromOf = (parent: string) => ({ forEach: [{ as: 'above', resource: parent, from: 'store' }] });
  const family = (owners: object, areas: object = {}) =>
    specOf({
      areas,
      owners: { ...fromOf('areas'), request: { path: '/owners/{{ each.above.id }}' }, ...owners },
      things: { ...fromOf('owners'), request: { path: '/things/{{ each.above.id }}' } },
    });
  const changed = (before: ConnectorSpec, after: ConnectorSpec) =>
    changedFacets(meaning(before, 'things'), meaning(after, 'things'));

  it.each<[string, object, object]>([
    ['key of theirs', { primaryKey: ['slug'] }, {}],
    ['request of theirs', { request: { path: '/owners/{{ each.above.id }}/all' } }, {}],
    ['list in their response', { response: { records: 'owners' } }, {}],
    [
      'definition of their key',
      { primaryKey: ['id', 'of'], response: { addFields: { of: '"x"' }, records: 'data' } },
      {},
    ],
    ['request of those above them', {}, { request: { path: '/regions' } }],
    ['key of those above them', {}, { primaryKey: ['slug'] }],
  ])('are about other records with another %s', (_what, owners, areas) => {
    expect(changed(family({}), family(owners, areas))).toEqual(['read', 'places']);
  });

  it('stay what they are where their parents are only chosen, sent or shaped otherwise', () => {
    const owners = { filter: 'live', transform: "{ 'id': id }", response: { addFields: { n: '1' }, records: 'data' } };
    expect(changed(family({}), family(owners, { pagination: { kind: 'link_header' } }))).toEqual([]);
  });

  it.each<[string, object, object]>([
    ['their parents', { request: { path: '/{{ params.area }}/{{ each.above.id }}' } }, {}],
    ['those above their parents', {}, { request: { path: '/areas', query: { in: '{{ params.area }}' } } }],
    [
      'the partitions of those above their parents',
      {},
      { forEach: [{ as: 'in', values: '{{ [params.area] }}' }], request: { path: '/areas/{{ each.in }}' } },
    ],
    ['the key of their parents', { primaryKey: ['id', 'in'], response: { addFields: { in: 'params.area' } } }, {}],
  ])('are about other records where a param asks for others of %s', (_what, owners, areas) => {
    const spec = family(owners, areas);
    expect(changedFacets(meaning(spec, 'things', { area: 'eu' }), meaning(spec, 'things', { area: 'us' }))).toEqual([
      'read',
    ]);
  });
});

describe('a key that is added to records', () => {
  const keyed = (of: string, other = '"x"') => ({
    primaryKey: ['of', 'id'],
    response: { records: 'data', addFields: { of, other } },
  });

  it('means something else when its definition does, or a param in that', () => {
    expect(changedBy(keyed('"a"'), keyed('"b"'))).toEqual(['key']);
    expect(changedByArea(keyed('params.area'))).toEqual(['key']);
    expect(changedByArea({ ...keyed('params.area'), primaryKey: ['of.name', 'id'] })).toEqual(['key']);
  });

  it('means the same when other fields are added', () => {
    expect(changedBy(keyed('"a"', '"x"'), keyed('"a"', '"y"'))).toEqual([]);
    expect(changedByArea(keyed('"a"', 'params.area'))).toEqual([]);
  });
});

describe('a cursor that is made of a param', () => {
  it.each<[string, object]>([
    ['map', { map: "$merge([$, { 'at': $params.area }])" }],
    ['addFields', { addFields: { at: 'params.area' } }],
  ])('means something else when that does: %s', (_by, response) => {
    expect(changedByArea({ incremental, response: { records: 'data', ...response } })).toEqual(['cursor']);
  });
});

describe('the account whose records are read', () => {
  const http = specDocument().http;

  it.each<[string, object, readonly Facet[]]>([
    ['the host', { http: { ...http, baseUrl: 'https://{{ params.area }}.example.com' } }, ['read', 'account']],
    ['the user', { auth: { kind: 'basic', username: '{{ params.area }}' } }, ['read', 'account']],
    [
      'the directory of its tokens',
      {
        auth: {
          ...{ kind: 'oauth2_client_credentials', clientId: 'c', clientSecret: 's' },
          tokenUrl: 'https://login.example.com/{{ params.area }}/token',
        },
      },
      ['read', 'account'],
    ],
    [
      'the user of a login',
      {
        auth: {
          ...{ kind: 'session', tokenFrom: 'body.token', put: { in: 'header', name: 'x' } },
          login: { method: 'POST', path: '/login', body: { json: { user: '{{ params.area }}' } } },
        },
      },
      ['read', 'account'],
    ],
    ['a query', { http: { ...http, query: { in: '{{ params.area }}' } } }, ['read']],
  ])('may be another where a param chooses %s', (_what, parts, facets) => {
    expect(changedByArea({}, parts)).toEqual(facets);
  });

  it('is the same with another client', () => {
    const auth = {
      ...{ kind: 'oauth2_client_credentials', clientId: '{{ params.area }}', clientSecret: 's' },
      tokenUrl: 'https://login.example.com/token',
    };
    expect(changedByArea({}, { auth })).toEqual([]);
  });
});

describe('records of a body that is decoded otherwise', () => {
  it('are others', () => {
    const response = (parts: object) => ({ response: { records: 'data', ...parts } });
    expect(changedBy(response({ bigNumbers: 'number' }), response({}))).toEqual(['read']);
    expect(changedBy(response({ decoder: 'jsonl' }), response({}))).toEqual(['read']);
    expect(changedBy(response({ decoder: 'json', bigNumbers: 'string' }), response({}))).toEqual([]);
  });
});

describe('a filter', () => {
  const filtered = (filter: string, response: object) => ({ filter, response: { records: 'data', ...response } });

  it.each<[string, object, object]>([
    ['map', { map: 'node' }, { map: 'item' }],
    ['addFields', { addFields: { of: '1' } }, { addFields: { of: '2' } }],
  ])('chooses others where a field that it sees is made otherwise: %s', (_by, before, after) => {
    expect(changedBy(filtered('of = 1', before), filtered('of = 1', after))).toEqual(['read']);
    expect(changedBy(filtered('$.of = 1', before), filtered('$.of = 1', after))).toEqual(['read']);
    const marks = (response: object) => ({ deletes: { mode: 'flag', when: 'of = 1' }, response });
    expect(changedBy(marks(before), marks(after))).toEqual(['read']);
    expect(changedBy({ response: before }, { response: after })).toEqual([]);
  });

  it('chooses others where a param does that makes a field which it sees, and only there', () => {
    const added = { addFields: { of: 'params.area' } };
    expect(changedByArea(filtered('of = 1', added))).toEqual(['read']);
    expect(changedByArea(filtered('id = 1', added))).toEqual([]);
    expect(changedByArea(filtered('id = 1', { map: "$merge([$, { 'n': $params.area }])" }))).toEqual(['read']);
  });
});

describe('a resource whose invalid records are skipped', () => {
  const shaped = (onInvalid: string) => ({ onInvalid, transform: "{ 'id': id, 'in': $params.area }" });

  it('may deliver others where a param shapes them, and only such a one', () => {
    expect(changedByArea(shaped('skip'))).toEqual(['read']);
    expect(changedByArea(shaped('quarantine'))).toEqual([]);
  });

  it('may deliver others where a table shapes them', () => {
    const things = { onInvalid: 'skip', transform: "{ 'id': id, 'in': $lookups.names.a }" };
    const of = (name: string) =>
      meaning(specOf({ things }, { lookups: [{ kind: 'static', assignTo: 'names', table: { a: name } }] }), 'things');
    expect(changedFacets(of('x'), of('y'))).toEqual(['read']);
  });
});

describe('what is known of delivered records', () => {
  const unnoted = { changeDetection: { mode: 'none' } };
  const flagged = { ...unnoted, deletes: { mode: 'flag', when: 'gone' } };

  it.each<[string, object, object]>([
    ['versions that were not noted', unnoted, {}],
    ['deletions that were not noted', unnoted, flagged],
    ['versions where only deletions were noted', flagged, {}],
    ['versions that a replaced table needs not', { target: { table: 'things', mode: 'replace' } }, {}],
  ])('is too little for %s', (_what, before, after) => {
    expect(changedBy(before, after)).toContain('known');
    expect(changedBy(after, before)).not.toContain('known');
  });

  it('is the same by hash and by field, and was not compared by an earlier version of the service', () => {
    expect(changedBy({}, { changeDetection: { mode: 'field', field: 'etag' } })).toEqual([]);
    const { known: _, ...before } = meaning(specOf({ things: unnoted }), 'things');
    expect(changedFacets(before, meaning(specOf({ things: {} }), 'things'))).toEqual([]);
  });
});
