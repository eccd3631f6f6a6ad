/** A table that batches write, and how tests look at the statements. */
import { expect } from 'vitest';
import type { WriteMode } from '../../../src/core/destinations/destination.ts';
import type { SqlServerFields } from '../../../src/core/destinations/sqlserver/fields.ts';
import type { SqlServerTable } from '../../../src/core/destinations/sqlserver/schema.ts';
import type { StoredColumn } from '../../../src/core/destinations/sqlserver/table.ts';
import { formFor } from '../../../src/core/destinations/sqlserver/values.ts';

const column = (name: string, typeName: string): StoredColumn => ({
  name,
  typeName,
  length: -1,
  precision: 18,
  scale: 4,
  collation: null,
  isJson: false,
  nullable: true,
  hasDefault: false,
  generated: name === '_seq',
  evolved: false,
  noted: true,
});

/** One that the server fills, and three that records fill. */
const columns = [column('_seq', 'bigint'), column('a', 'nvarchar'), column('Order', 'decimal'), column('f', 'float')];

/** The columns that records fill. */
export const writers: SqlServerFields['writers'] = columns
  .slice(1)
  .map((stored) => ({ name: stored.name, nullable: true, ...formFor(stored) }));

/** A table `items` with these columns. */
export function preparedFor(mode: WriteMode): SqlServerTable {
  const stored = { name: 'items', id: 1, isView: false, isDiverted: false, isFiltered: false, columns, keys: [] };
  return { schema: 'dbo', mode, stored, written: mode === 'replace' ? '_css_next_items' : 'items' };
}

/** Statements on one line. */
export const onOneLine = (sql: string): string => sql.replaceAll(/\s+/g, ' ');

/** Where each text occurs, in the order given: ascending when the statements are. */
const places = (sql: string, ...texts: readonly string[]): readonly number[] => texts.map((text) => sql.indexOf(text));

/** Expects each text once the one before it has occurred. */
export const expectInOrder = (sql: string, ...texts: readonly string[]): void => {
  const found = places(sql, ...texts);
  expect(found).not.toContain(-1);
  expect(found).toEqual(found.toSorted((a, b) => a - b));
};
