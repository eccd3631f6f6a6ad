import { describe, expect, it } from 'vitest';
import { parseColumnType } from '../../spec/schema/column-type.ts';
import { checkTypes } from './table-check.ts';

/** A modifier as PostgreSQL codes it. */
const scaled = (precision: number, scale: number) => ((precision << 16) | (scale & 0x7ff)) + 4;

function check(wanted: string, typeName: string, modifier = -1): void {
  const type = parseColumnType(wanted);
  if (!type) throw new Error(`${wanted} is no type`);
  const flags = { nullable: true, generated: false, type: '', isPlain: true, evolved: false };
  const columns = [{ name: 'a', typeName, castType: typeName, modifier, ...flags }];
  const table = { name: 'items', kind: 'r', columns, keys: [] };
  checkTypes(table, { schema: 's', columns: [{ name: 'a', type, nullable: true }] });
}

describe('checkTypes', () => {
  it.each([
    ['text', 'varchar', 24],
    ['text', 'jsonb'],
    ['text', 'citext'],
    ['integer', 'int8'],
    ['bigint', 'int4'],
    ['bigint', 'numeric', scaled(20, 0)],
    ['numeric(18,4)', 'numeric', scaled(10, 4)],
    ['numeric(18,4)', 'numeric'],
    ['numeric(18,4)', 'int8'],
    ['float', 'float8'],
    ['float', 'numeric'],
    ['float', 'int8'],
    ['timestamptz', 'timestamp'],
    ['date', 'text'],
    ['uuid', 'text'],
    ['json', 'json'],
  ])('lets %s go into %s', (wanted, typeName, modifier?: number) => {
    expect(() => check(wanted, typeName, modifier)).not.toThrow();
  });

  it.each([
    ['text', 'int8'],
    ['text', 'uuid'],
    ['text', 'timestamptz'],
    ['text', 'numeric'],
    ['bigint', 'text'],
    ['bigint', 'float8'],
    ['bigint', 'numeric', scaled(5, -2)],
    ['numeric(18,4)', 'text'],
    ['numeric(18,4)', 'float8'],
    ['numeric(18,4)', 'numeric', scaled(18, 2)],
    ['float', 'float4'],
    ['float', 'numeric', scaled(18, 4)],
    ['boolean', 'text'],
    ['boolean', 'int4'],
    ['timestamptz', 'date'],
    ['date', 'timestamptz'],
    ['json', 'text'],
  ])('refuses %s for %s, which would change values', (wanted, typeName, modifier?: number) => {
    expect(() => check(wanted, typeName, modifier)).toThrow(/The column "a" of "s"."items" is/);
  });
});
