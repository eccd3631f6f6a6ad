import type { RejectedRow, Tombstone } from '../../model/batch.ts';
import { textArray } from '../../postgres/binary-arrays.ts';
import type { WriteMode } from '../destination.ts';
import { quoted, tableSql } from '../sql/identifiers.ts';
import { isStorableId } from '../sql/record-rows.ts';
import { keptRow } from '../sql/untouched.ts';
import type { BatchWrite } from './batch-write.ts';
import { wholeRefused } from './errors.ts';
import type { PostgresTable } from './schema.ts';
import { idLimits, idsIn, type Session } from './session.ts';
import type { ValuePlaces } from './write-sql.ts';

type Effect = Tombstone['effect'];

/** Leaves out effects that do not occur and ids that no row can have. */
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
  readonly ids: string;
  readonly cleared: readonly string[];
}

/**
 * Mode append marks every version, and each keeps the run that brought it. In mode update the row is another resource's: only the
 * lane's own columns become null.
 */
export function deleteSql({ schema, written, mode }: PostgresTable, parts: DeleteParts): string {
  const { effect, places, cleared } = parts;
  const table = tableSql(schema, written);
  const which = `${whichSql(mode, parts)}${places.isGuarded ? ' and exists (select from claim)' : ''}`;
  if (mode === 'update') {
    const nulls = cleared.map((name) => `, ${quoted(name)} = null`).join('');
    return `update ${table} set _run_id = ${places.run}::text, _synced_at = now()${nulls} where ${which}`;
  }
  if (effect === 'hard') return `delete from ${table} where ${which}`;
  const origin = mode === 'append' ? '' : `, _run_id = ${places.run}::text, _synced_at = now()`;
  return `update ${table} set _deleted_at = now()${origin} where ${which}`;
}

/** The rows that {@link deleteSql} should touch, as SQL to follow `from`. */
export const deletableSql = ({ schema, written, mode }: PostgresTable, parts: DeleteParts): string =>
  `${tableSql(schema, written)} where ${whichSql(mode, parts)}`;

const whichSql = (mode: WriteMode, { effect, places: { connection }, ids }: DeleteParts): string =>
  `_connection_id = ${connection}::text and _external_id = any(${ids}::text[])${
    effect === 'soft' && mode !== 'update' ? ' and _deleted_at is null' : ''
  }`;

type BatchTombstones = Pick<BatchWrite, 'map' | 'connectionId' | 'batch' | 'cleared'>;

/**
 * Returns the deletions that left a row of their record unchanged. Throws `destination_rejected` when a constraint or trigger of
 * the customer refuses one.
 */
export async function applyTombstones(
  session: Session,
  { map, connectionId, batch, cleared }: BatchTombstones,
): Promise<readonly RejectedRow[]> {
  const kept = new Set<string>();
  for (const [effect, ids] of idsByEffect(batch.tombstones)) {
    const places = { run: '(select run_id from batch)', connection: '$2', isGuarded: false };
    const parts = { effect, places, ids: '$3', cleared };
    const sql = `
      with batch as (select $1::text as run_id), touched as (${deleteSql(map.prepared, parts)} returning _external_id)
      select distinct id from (
        select _external_id as id from ${deletableSql(map.prepared, parts)} except all select _external_id from touched
      ) as kept`;
    try {
      const values = [batch.runId, connectionId, textArray(ids)];
      for (const id of idsIn(await session.query<'id'>(sql, values, idLimits(ids)))) kept.add(id);
    } catch (error) {
      throw wholeRefused(error, 'The table does not allow records to be deleted');
    }
  }
  if (kept.size === 0) return [];
  return batch.tombstones.flatMap(({ externalId }, index) =>
    kept.has(externalId) ? [{ index: batch.rows.length + index, externalId, message: keptRow }] : [],
  );
}
