import { describe, expect, it } from 'vitest';
import { parseColumnType } from '../../spec/schema/column-type.ts';
import { checkOurs, checkTypes } from './table-check.ts';

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
  const table = { name: 'items', id: 1, isView: false, isDiverted: false, isFiltered: false, columns, keys: [] };
  checkTypes(table, { schema: 'dbo', columns: [{ name: 'a', type, nullable: true }] });
}

describe('checkOurs', () => {
  const texts = ['_connection_id', '_external_id', '_run_id', '_synced_at', '_deleted_at'];
  const flags = { collation: null, nullable: true, hasDefault: false, generated: false, evolved: false, isJson: false };
  const column = { typeName: 'nvarchar', length: 10, precision: 0, scale: 0, noted: true, ...flags };
  const columns = texts.map((name) => ({ name, ...column }));
  const keys = [['_connection_id', '_external_id']];
  const table = { name: 'items', id: 1, isView: false, isDiverted: false, isFiltered: false, columns, keys };
  const purpose = { schema: 'dbo', mode: 'upsert' } as const;

  it('takes a table of the service', () => {
    expect(() => checkOurs(table, purpose)).not.toThrow();
  });

  it('refuses a table whose INSTEAD OF trigger may drop rows that the server calls written', () => {
    expect(() => checkOurs({ ...table, isDiverted: true }, purpose)).toThrow(/INSTEAD OF trigger.*AFTER trigger/);
  });

  it('refuses a table whose security policy hides rows, which would count as deleted and stay', () => {
    expect(() => checkOurs({ ...table, isFiltered: true }, purpose)).toThrow(/security policy.*take the filter off/);
  });
});

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
