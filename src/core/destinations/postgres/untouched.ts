import pg from 'pg';
import type { RejectedRow } from '../../model/batch.ts';
import { textArray } from '../../postgres/binary-arrays.ts';
import { tableSql } from '../sql/identifiers.ts';
import { keptAway, noRowYet } from '../sql/untouched.ts';
import type { BatchWrite } from './batch-write.ts';
import type { PostgresRows } from './rows.ts';
import { idLimits, idsIn, type Session } from './session.ts';

const complaint = 'rows are left untouched: they are missing, or a trigger, rule or row policy keeps them';

/** An expression that fails unless all conditions hold: a statement that is its own transaction then writes nothing. */
export const touchedSql = (conditions: readonly string[]): string =>
  `cast(case when ${conditions.join(' and ')} then '1' else '${complaint}' end as int)`;

export const isUntouched = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '22P02' && error.message.includes(complaint);

/** Thrown when several versions of a record were written and it is unknown which was left untouched. */
export const ambiguous = new Error('several rows have the record id');

interface Writing {
  /** The ids are parameter $3. */
  readonly sql: string;
  readonly values: readonly unknown[];
  readonly rows: PostgresRows;
}

/** Returns the untouched ids, once for each of their rows. */
export async function findUntouched(session: Session, { sql, values, rows }: Writing): Promise<readonly string[]> {
  const found = await session.query<'id'>(
    `with written as (${sql} returning _external_id)
     select id from unnest($3::text[]) as id except all select _external_id from written`,
    values,
    idLimits(rows.lists[0] ?? []),
  );
  return idsIn(found);
}

export function isAmbiguous(externalIds: readonly string[], { lists: [ids = []] }: PostgresRows): boolean {
  if (externalIds.length === 0 || ids.length < 2) return false;
  const untouched = new Set<unknown>(externalIds);
  const own = ids.filter((id) => untouched.has(id));
  return own.length > untouched.size;
}

interface Untouched {
  readonly write: BatchWrite;
  readonly rows: PostgresRows;
  readonly externalIds: readonly string[];
}

/** In mode update the record usually has no row yet. */
export async function untouchedRows(
  session: Session,
  { write, rows, externalIds }: Untouched,
): Promise<readonly RejectedRow[]> {
  const { schema, written, mode } = write.map.prepared;
  const there =
    mode === 'update'
      ? await session.query<'id'>(
          `select _external_id as id from ${tableSql(schema, written)}
           where _connection_id = $1 and _external_id = any($2::text[])`,
          [write.connectionId, textArray(externalIds)],
          idLimits(externalIds),
        )
      : null;
  const isThere = there && new Set(idsIn(there));
  const [ids = []] = rows.lists;
  const places = new Map(ids.map((id, place) => [id, place]));
  return externalIds
    .map((externalId): RejectedRow => {
      const index = rows.indexes[places.get(externalId) ?? -1] ?? 0;
      return isThere === null || isThere.has(externalId)
        ? { index, externalId, message: keptAway }
        : { index, externalId, message: noRowYet, isAwaited: true };
    })
    .toSorted((one, other) => one.index - other.index);
}
