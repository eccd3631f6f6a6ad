import { describe, expect, it } from 'vitest';
import { canNameColumn, checkColumnNames, checkName, nextTable, quoted, shownName } from './identifiers.ts';

describe('checkName', () => {
  it.each(['items', '_items', 'Items2', 'x'.repeat(63)])('accepts %s', (name) => {
    expect(() => checkName('table', name)).not.toThrow();
  });

  it.each([
    '',
    '1a',
    'a-b',
    'a.b',
    'a"b',
    'a b',
    'ä',
    'x'.repeat(64),
    'pg_x',
    'PG_x',
    'information_schema',
    '_css_checkpoint',
    '_CSS_next_items',
  ])('refuses %j', (name) => {
    expect(() => checkName('table', name)).toThrow(expect.objectContaining({ code: 'destination_rejected' }));
  });
});

describe('nextTable', () => {
  it('is named after its table', () => {
    expect(nextTable('Items')).toBe('_css_next_Items');
  });

  it('tells tables apart whose names are too long for that', () => {
    const [first, second] = ['a', 'b'].map((end) => nextTable('x'.repeat(62) + end));
    expect(first).toMatch(/^_css_next_x{36}_[0-9a-f]{16}$/);
    expect(second).not.toBe(first);
  });
});

describe('column names', () => {
  it.each(['_connection_id', '_EXTERNAL_ID', '_synced_at', 'xmin', 'CTID', 'toString()'])('cannot be %s', (name) => {
    expect(canNameColumn(name)).toBe(false);
  });

  it('may start with an underscore and be a word of SQL', () => {
    expect(canNameColumn('_links') && canNameColumn('select')).toBe(true);
  });

  it('are refused when two differ only in case', () => {
    expect(() => checkColumnNames(['id', 'name'])).not.toThrow();
    expect(() => checkColumnNames(['id', 'ID'])).toThrow(/twice/);
  });
});

it('quotes names so that none can end its quotes', () => {
  expect(quoted('a"; drop table x; --')).toBe('"a""; drop table x; --"');
});

it('shows foreign names short and on one line', () => {
  expect(shownName(`a\n${'x'.repeat(100)}`)).toBe(`"a\\n${'x'.repeat(78)}…"`);
});
