/**
 * The schema records one org for each table, and no other org writes, grows or drops it. Connections of one org may share a
 * table, since its rows are keyed by connection.
 */
import { AppError } from '../../errors.ts';
import type { TargetTable } from '../destination.ts';
import { checkpointTable, ownersName, ownersTable, tableSql } from './identifiers.ts';
import type { CheckedTable } from './table-check.ts';
import { type StoredTable, type TableKind, writtenTable } from './table-kind.ts';

interface NamedTable {
  readonly schema: string;
  readonly table: string;
}

interface FoundSchema<Stored> {
  readonly schema: string;
  readonly tables: ReadonlyMap<string, Stored> | null;
}

/** Throws `destination_rejected` where a table is recorded for another org, which the message does not name. */
export function checkOwner({ orgId }: { readonly orgId: string }, { schema, table }: NamedTable, owner: string | null) {
  if (owner === null || owner === orgId) return;
  throw new AppError(
    'destination_rejected',
    `${tableSql(schema, table)} belongs to another org of this service. It was not changed; choose another target.table. ` +
      `If that org has given it up, whoever owns the database deletes its row of ${ownersName(schema)}.`,
  );
}

/**
 * `null` if the table is missing or has no owner; the owner row of a dropped table is ignored. Throws `destination_rejected` when
 * another table has taken the name of the table of owners.
 */
export async function ownerOf<Stored extends StoredTable>(
  kind: TableKind<Stored>,
  { schema, tables }: FoundSchema<Stored>,
  stored: Stored | undefined,
): Promise<string | null> {
  const owners = tables?.get(ownersTable);
  if (!owners) return null;
  checkOwnersTable(owners, schema);
  return stored ? await kind.readOwner(schema, stored.name) : null;
}

function checkOwnersTable({ columns, keys }: CheckedTable, schema: string): void {
  const names = new Set(columns.map(({ name }) => name));
  const hasColumns = ['table_name', 'org_id', 'recorded_at'].every((name) => names.has(name));
  if (hasColumns && keys.some((key) => key.join() === 'table_name')) return;
  throw new AppError(
    'destination_rejected',
    `${ownersName(schema)} exists and does not belong to this service; rename it or choose another schema.`,
  );
}

/**
 * The schema used before the org had its own still counts if its table is recorded for the org, or the checkpoint of the lane is
 * about it. Ownership is checked afterwards. `lane` is `null` if not known.
 */
export async function schemaOf<Stored extends StoredTable>(
  kind: TableKind<Stored>,
  target: TargetTable,
  lane: string | null,
): Promise<string> {
  const own = target.schema ?? kind.defaultSchema;
  if (own === null) {
    throw new AppError('destination_rejected', 'The destination names no schema and its role has none; name one.');
  }
  const schema = target.formerSchema === undefined ? null : (target.formerSchema ?? kind.defaultSchema);
  if (schema === null) return own;
  const tables = await kind.readTables(schema, [target.table, checkpointTable, ownersTable]);
  const stored = tables?.get(target.table);
  if (!stored) return own;
  if ((await ownerOf(kind, { schema, tables }, stored)) === kind.orgId) return schema;
  const written = [target.table, writtenTable({ ...target, mode: 'replace' })];
  const hasLane =
    tables?.has(checkpointTable) && lane !== null && (await kind.hasLane({ schema, lane, tables: written }));
  return hasLane ? schema : own;
}
