import { describe, expect, it } from 'vitest';
import { preparedFor } from '../../../../test/support/sqlserver/written-table.ts';
import { copyColumnSql } from './definitions.ts';

const [, text, decimal, float] = preparedFor('replace').stored.columns;
const copied = (column: typeof text, changes: object = {}, checks: readonly string[] = []) =>
  column &&
  copyColumnSql(
    '"dbo"."n"',
    { ...column, ...changes },
    { checks: checks.map((definition) => ({ name: 'c', definition })), defaults: [] },
  );

describe('a column that a next generation lacks', () => {
  it('is added with the type of the table', () => {
    expect(copied(text)).toBe('alter table "dbo"."n" add "a" nvarchar(max) null;');
    expect(copied(text, { length: 20 })).toBe('alter table "dbo"."n" add "a" nvarchar(20) null;');
    expect(copied(decimal)).toBe('alter table "dbo"."n" add "Order" decimal(18,4) null;');
    expect(copied(float)).toBe('alter table "dbo"."n" add "f" float(53) null;');
  });

  it.each([
    ['needs a value', { nullable: false }, []],
    ['has a default', { hasDefault: true }, []],
    ['has a check', {}, ['([a]>(0))']],
    ['has a type that the service does not make', { typeName: 'geometry' }, []],
  ])('waits for a copy of the whole table where it %s', (_case, changes, checks) => {
    expect(copied(text, changes, checks)).toBeNull();
  });
});
