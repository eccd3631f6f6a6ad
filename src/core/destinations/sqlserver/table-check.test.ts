import { describe, expect, it } from 'vitest';
import { parseColumnType } from '../../spec/schema/column-type.ts';
import { checkTypes } from './table-check.ts';

function check(
  wanted: string,
  typeName: string,
  facts: { scale?: number; isJson?: boolean; noted?: boolean } = {},
): void {
  const type = parseColumnType(wanted);
  if (!type) throw new Error(`${wanted} is no type`);
  const flags = {
    collation: null,
    nullable: true,
    hasDefault: false,
    generated: false,
    evolved: false,
    isJson: false,
    noted: true,
  };
  const columns = [{ name: 'a', typeName, length: -1, precision: 18, scale: 4, ...flags, ...facts }];
  const table = { name: 'items', id: 1, isView: false, columns, keys: [] };
  checkTypes(table, { schema: 'dbo', columns: [{ name: 'a', type, nullable: true }] });
}

describe('checkTypes', () => {
  it.each([
    ['text', 'nvarchar'],
    ['text', 'xml'],
    ['bigint', 'int'],
    ['bigint', 'decimal'],
    ['numeric(18,4)', 'decimal'],
    ['numeric(18,4)', 'bigint'],
    ['float', 'float'],
    ['timestamptz', 'datetime2'],
    ['uuid', 'nvarchar'],
    ['json', 'nvarchar', { isJson: true }],
    ['json', 'nvarchar', { noted: false }],
  ])('lets %s go into %s', (wanted, typeName, facts?: { isJson?: boolean; noted?: boolean }) => {
    expect(() => check(wanted, typeName, facts)).not.toThrow();
  });

  it.each([
    ['text', 'bigint'],
    ['text', 'nvarchar', { isJson: true }],
    ['json', 'nvarchar'],
    ['bigint', 'nvarchar'],
    ['numeric(18,4)', 'decimal', { scale: 2 }],
    ['numeric(18,4)', 'float'],
    ['float', 'decimal'],
    ['boolean', 'int'],
    ['date', 'datetimeoffset'],
  ])(
    'refuses %s for %s, which would change values',
    (wanted, typeName, facts?: { isJson?: boolean; scale?: number }) => {
      expect(() => check(wanted, typeName, facts)).toThrow(/The column "a" of "dbo"."items" is/);
    },
  );
});
