import type { Batch, RejectedRow, Tombstone } from '../../model/batch.ts';
import { textArray } from '../../postgres/binary-arrays.ts';
import { tableSql } from '../sql/identifiers.ts';
import { isStorableId } from '../sql/record-rows.ts';
import { keptRow } from '../sql/untouched.ts';
import { wholeRefused } from './errors.ts';
import type { PostgresFields } from './fields.ts';
import type { PostgresTable } from './schema.ts';
import type { Session } from './session.ts';
import type { ValuePlaces } from './write-sql.ts';

type Effect = Tombstone['effect'];

/** External ids by what happens to their rows, without effects that do not occur and ids that no row can have. */
export const idsByEffect = (tombstones: readonly Tombstone[]): readonly (readonly [Effect, readonly string[]])[] =>
  (['soft', 'hard'] as const)
    .map((effect) => [effect, idsOf(tombstones, effect)] as const)
    .filter(([, ids]) => ids.length > 0);

const idsOf = (tombstones: readonly Tombstone[], effect: Effect): readonly string[] =>
  tombstones
    .filter((tombstone) => tombstone.effect === effect && isStorableId(tombstone.externalId))
    .map(({ externalId }) => externalId);

interface DeleteParts {
  readonly effect: Effect;
  readonly places: Pick<ValuePlaces, 'run' | 'connection' | 'isGuarded'>;
  /** The parameter with the external ids. */
  readonly ids: string;
}

/**
 * The statement that marks or removes the rows of deleted records. Mode append marks every version and leaves to each
 * the run that brought it.
 */
export function deleteSql({ schema, written, mode }: PostgresTable, parts: DeleteParts): string {
  const { effect, places } = parts;
  const table = tableSql(schema, written);
  const which = `${whichSql(parts)}${places.isGuarded ? ' and exists (select from claim)' : ''}`;
  if (effect === 'hard') return `delete from ${table} where ${which}`;
  const origin = mode === 'append' ? '' : `, _run_id = ${places.run}::text, _synced_at = now()`;
  return `update ${table} set _deleted_at = now()${origin} where ${which}`;
}

/** The rows that {@link deleteSql} should touch, as SQL to follow `from`. */
export const deletableSql = ({ schema, written }: PostgresTable, parts: DeleteParts): string =>
  `${tableSql(schema, written)} where ${whichSql(parts)}`;

const whichSql = ({ effect, places: { connection }, ids }: DeleteParts): string =>
  `_connection_id = ${connection}::text and _external_id = any(${ids}::text[])${
    effect === 'soft' ? ' and _deleted_at is null' : ''
  }`;

interface BatchTombstones {
  readonly map: PostgresFields;
  readonly connectionId: string;
  readonly batch: Batch;
}

/**
 * Returns the deletions that left a row of their record as it was. Throws `destination_rejected` when a constraint or
 * trigger of the customer refuses one with an error.
 */
export async function applyTombstones(
  session: Session,
  { map, connectionId, batch }: BatchTombstones,
): Promise<readonly RejectedRow[]> {
  const kept = new Set<string>();
  for (const [effect, ids] of idsByEffect(batch.tombstones)) {
    const places = { run: '(select run_id from batch)', connection: '$2', isGuarded: false };
    const parts = { effect, places, ids: '$3' };
    const sql = `
      with batch as (select $1::text as run_id), touched as (${deleteSql(map.prepared, parts)} returning _external_id)
      select distinct id from (
        select _external_id as id from ${deletableSql(map.prepared, parts)} except all select _external_id from touched
      ) as kept`;
    try {
      const limits = { bytesMax: 65_536 + ids.length * 2100, rowsMax: ids.length + 1 };
      const values = [batch.runId, connectionId, textArray(ids)];
      for (const { id } of await session.query<{ readonly id: string }>(sql, values, limits)) kept.add(id);
    } catch (error) {
      throw wholeRefused(error, 'The table does not allow records to be deleted');
    }
  }
  if (kept.size === 0) return [];
  return batch.tombstones.flatMap(({ externalId }, index) =>
    kept.has(externalId) ? [{ index: batch.rows.length + index, externalId, message: keptRow }] : [],
  );
}
