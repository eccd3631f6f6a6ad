import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { isTableName } from '../json/property-names.ts';
import { DestinationSpec } from '../spec/schema/destination-schema.ts';
import { Resource } from '../spec/schema/resource-schema.ts';
import { defaultTarget, targetTable } from './target-table.ts';

const postgres = v.parse(DestinationSpec, { kind: 'postgres', url: '{{ secrets.url }}', schema: 'crm' });

const tableOf = (fields: Record<string, unknown>, destination = postgres) =>
  targetTable(
    v.parse(Resource, { key: 'line-items', primaryKey: 'id', request: { path: '/items' }, ...fields }),
    destination,
  );

const columnsOf = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) =>
  tableOf({ validate: { schema: { type: 'object', properties } }, ...more }).columns;

describe('targetTable', () => {
  it('takes table and schema from the target, then from resource key and destination', () => {
    expect(tableOf({})).toEqual({
      schema: 'crm',
      table: 'line_items',
      columns: [],
      evolve: 'add_columns',
      mode: 'upsert',
    });
    const target = { table: 'items', schema: 'own', evolve: 'none' };
    expect(tableOf({ target })).toMatchObject({ schema: 'own', table: 'items', evolve: 'none' });
  });

  it('leaves the schema to the server when nobody names one', () => {
    const bare = v.parse(DestinationSpec, { kind: 'postgres', url: '{{ secrets.url }}' });
    expect(tableOf({}, bare).schema).toBeNull();
  });

  it.each([
    [{ type: 'string' }, { kind: 'text' }],
    [
      { type: 'string', maxLength: 20 },
      { kind: 'text', maxLength: 20 },
    ],
    [{ type: 'string', format: 'date-time' }, { kind: 'timestamptz' }],
    [{ type: 'string', format: 'date' }, { kind: 'date' }],
    [{ type: 'string', format: 'uuid' }, { kind: 'uuid' }],
    [{ type: 'string', format: 'email' }, { kind: 'text' }],
    [{ type: 'integer' }, { kind: 'bigint' }],
    [{ type: 'number' }, { kind: 'float' }],
    [
      { type: ['number', 'null'], 'x-type': 'numeric(18,4)' },
      { kind: 'numeric', precision: 18, scale: 4 },
    ],
    [{ type: 'boolean' }, { kind: 'boolean' }],
    [{ type: 'object' }, { kind: 'json' }],
    [{ type: ['array', 'null'] }, { kind: 'json' }],
    [{ type: ['string', 'integer'] }, { kind: 'text' }],
    [{ enum: ['a', 'b', null] }, { kind: 'text' }],
    [{ enum: [1, 2] }, { kind: 'bigint' }],
    [{ const: true }, { kind: 'boolean' }],
    [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, { kind: 'bigint' }],
  ])('derives a column from %j', (property, type) => {
    expect(columnsOf({ a: property })).toMatchObject([{ name: 'a', type }]);
  });

  it.each([{}, true, { type: 'null' }, { description: 'open' }])(
    'leaves the column of %j to its first value',
    (property) => {
      expect(columnsOf({ a: property })).toEqual([]);
    },
  );

  it('allows null unless the field is required and its type excludes it', () => {
    const properties = { a: { type: 'string' }, b: { type: ['string', 'null'] }, c: { type: 'string' } };
    const { columns } = tableOf({ validate: { schema: { type: 'object', required: ['a', 'b'], properties } } });
    expect(columns.map(({ nullable }) => nullable)).toEqual([false, true, true]);
  });

  it('lets target.columns override what the schema says, and add to it', () => {
    const columns = {
      a: { type: 'text', maxLength: 64 },
      b: { maxLength: 5 },
      c: { nullable: false },
      d: { type: 'date' },
      e: { nullable: true },
    };
    const properties = { a: { type: 'integer' }, b: { type: 'string' }, c: { type: 'string' } };
    expect(columnsOf(properties, { target: { columns } })).toEqual([
      { name: 'a', type: { kind: 'text', maxLength: 64 }, nullable: true },
      { name: 'b', type: { kind: 'text', maxLength: 5 }, nullable: true },
      { name: 'c', type: { kind: 'text' }, nullable: false },
      { name: 'd', type: { kind: 'date' }, nullable: true },
    ]);
  });
});

const placed = { schema: 'anything', table: 'contacts', columns: [], evolve: 'none', mode: 'upsert' } as const;
const orgId = 'org_01hv5j3m8x2k4w6q9r7t1y3z5a';

it.each([
  ['the one that the deployment names', { schema: 'shared' }, `shared_${orgId}`, 'shared'],
  ['none', {}, `css_${orgId}`, null],
])(
  'a table of the default destination is in a schema of its org, made of %s',
  (_case, configured, schema, formerSchema) => {
    expect(defaultTarget(placed, configured, orgId)).toEqual({ ...placed, schema, formerSchema });
  },
);

it('a long schema is cut so that the org stays whole', () => {
  const { schema } = defaultTarget(placed, { schema: 's'.repeat(63) }, orgId);
  expect(schema).toHaveLength(63);
  expect(schema?.endsWith(`_${orgId}`)).toBe(true);
  expect(isTableName(schema ?? '')).toBe(true);
});
