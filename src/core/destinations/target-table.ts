import { AppError } from '../errors.ts';
import { isJsonObject } from '../json/is-json-object.ts';
import type { ColumnType } from '../spec/schema/column-type.ts';
import { parseColumnType } from '../spec/schema/column-type.ts';
import type { DestinationSpec, TargetColumn } from '../spec/schema/destination-schema.ts';
import type { Resource } from '../spec/schema/resource-schema.ts';
import type { Column, TargetTable } from './destination.ts';
import { columnTypeOf } from './sql/column-types.ts';

/**
 * The `target` of a resource, with its columns from `validate.schema` and its schema from the destination where `target` is
 * silent. `destination` undefined: the default one.
 *
 * Throws `destination_rejected` for a column type that does not exist.
 */
export function targetTable(
  resource: Pick<Resource, 'target' | 'validate'>,
  destination: DestinationSpec | undefined,
): TargetTable {
  const { target, validate } = resource;
  const columns = new Map<string, Column>();
  for (const column of schemaColumns(validate?.schema)) columns.set(column.name, column);
  for (const [name, options] of Object.entries(target.columns)) {
    const column = overridden(name, { options, derived: columns.get(name) });
    if (column) columns.set(name, column);
  }
  const schema = destination && 'schema' in destination ? destination.schema : undefined;
  return {
    schema: target.schema ?? schema ?? null,
    table: target.table,
    columns: [...columns.values()],
    evolve: target.evolve,
    mode: target.mode,
  };
}

/** The longest schema name that both kinds of database keep whole. */
const nameLengthMax = 63;

/**
 * A table at the deployment's default destination, which all orgs share. The schema is the org's own, even if a spec names
 * another.
 *
 * @param configured the destination as the deployment declares it.
 */
export function defaultTarget(target: TargetTable, configured: unknown, orgId: string): TargetTable {
  const formerSchema = configuredSchema(configured);
  const prefix = (formerSchema ?? 'css').slice(0, nameLengthMax - orgId.length - 1);
  return { ...target, schema: `${prefix}_${orgId}`, formerSchema };
}

const configuredSchema = (configured: unknown): string | null =>
  isJsonObject(configured) && typeof configured['schema'] === 'string' ? configured['schema'] : null;

export const hasTables = ({ kind }: Pick<DestinationSpec, 'kind'>): boolean => kind !== 'webhook';

/**
 * Whether no other resource of the spec writes rows of its own to the table; one in mode `update` has none. A missing schema
 * matches any.
 */
export function ownsRows(
  { key, target: { table, schema } }: Pick<Resource, 'key' | 'target'>,
  others: readonly Pick<Resource, 'key' | 'target'>[],
): boolean {
  const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();
  return !others.some(
    ({ key: otherKey, target: other }) =>
      otherKey !== key &&
      other.mode !== 'update' &&
      isSame(other.table, table) &&
      (schema === undefined || other.schema === undefined || isSame(schema, other.schema)),
  );
}

/** A property without a type gets its column with its first value. */
function schemaColumns(schema: unknown): Column[] {
  if (!isJsonObject(schema) || !isJsonObject(schema['properties'])) return [];
  const required = new Set<unknown>(Array.isArray(schema['required']) ? schema['required'] : []);
  const columns: Column[] = [];
  for (const [name, property] of Object.entries(schema['properties'])) {
    const derived = columnTypeOf(property);
    if (derived) columns.push({ name, type: derived.type, nullable: derived.nullable || !required.has(name) });
  }
  return columns;
}

interface Override {
  readonly options: TargetColumn;
  readonly derived: Column | undefined;
}

function overridden(name: string, { options, derived }: Override): Column | undefined {
  const type = overriddenType(name, { options, derived });
  return type && { name, type, nullable: options.nullable ?? derived?.nullable ?? true };
}

function overriddenType(name: string, { options, derived }: Override): ColumnType | undefined {
  const { type: word, maxLength } = options;
  if (word === undefined) {
    const isText = derived === undefined || derived.type.kind === 'text';
    return isText && maxLength !== undefined ? { kind: 'text', maxLength } : derived?.type;
  }
  const type = parseColumnType(word, maxLength);
  if (type) return type;
  throw new AppError('destination_rejected', `target.columns.${name}.type is not a column type; correct the spec.`);
}
