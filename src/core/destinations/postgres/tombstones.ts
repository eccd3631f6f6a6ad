import type { Batch, Tombstone } from '../../model/batch.ts';
import { textArray } from '../../postgres/binary-arrays.ts';
import { tableSql } from '../sql/identifiers.ts';
import { isStorableId } from '../sql/record-rows.ts';
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
export function deleteSql({ schema, written, mode }: PostgresTable, { effect, places, ids }: DeleteParts): string {
  const { run, connection, isGuarded } = places;
  const table = tableSql(schema, written);
  const which = `_connection_id = ${connection}::text and _external_id = any(${ids}::text[])
    ${isGuarded ? 'and exists (select from claim)' : ''}`;
  if (effect === 'hard') return `delete from ${table} where ${which}`;
  const origin = mode === 'append' ? '' : `, _run_id = ${run}::text, _synced_at = now()`;
  return `update ${table} set _deleted_at = now()${origin} where ${which} and _deleted_at is null`;
}

interface BatchTombstones {
  readonly map: PostgresFields;
  readonly connectionId: string;
  readonly batch: Batch;
}

/** Throws `destination_rejected` when a constraint or trigger of the customer keeps a row. */
export async function applyTombstones(session: Session, { map, connectionId, batch }: BatchTombstones): Promise<void> {
  for (const [effect, ids] of idsByEffect(batch.tombstones)) {
    const places = { run: '(select run_id from batch)', connection: '$2', isGuarded: false };
    const sql = `with batch as (select $1::text as run_id) ${deleteSql(map.prepared, { effect, places, ids: '$3' })}`;
    try {
      await session.query(sql, [batch.runId, connectionId, textArray(ids)]);
    } catch (error) {
      throw wholeRefused(error, 'The table does not allow records to be deleted');
    }
  }
}
