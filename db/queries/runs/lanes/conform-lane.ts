import { sql } from 'kysely';
import type { RunNote } from '../../../../src/core/model/run-notes.ts';
import type { RunPosition } from '../../../../src/core/model/run-position.ts';
import {
  type Facet,
  forgetsRecords,
  type Meaning,
  ofOtherAccount,
  type StoredMeaning,
} from '../../../../src/core/spec/connection/meaning.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import type { BatchOwner } from '../batches/batch-owner.ts';
import { passOverEndedRuns } from '../batches/batches.ts';
import { closeAll } from '../records/requeue.ts';
import { deleteListed, deletePartitions, deletePlaces, deleteRecordStates, noteCleared } from './forget-lane.ts';
import { cursors, fields, forget, keptBack, leaves, misses, places } from './forget-records.ts';
import { newGeneration } from './new-generation.ts';
import { clearProgress, rewindStart } from './rewind.ts';

export interface Conformation extends BatchOwner {
  readonly runId: string;
  /** Meaning of the lane's facts when the attempt began; `null` if unknown. */
  readonly before: StoredMeaning | null;
  /** Their meaning under the spec and the params of the run. */
  readonly meaning: Meaning;
  /** Kinds of facts with another meaning; if empty, the lane only stores its meaning. */
  readonly changed: readonly Facet[];
}

export interface Conformed {
  /** Where the run continues; `null` at its beginning. */
  readonly position: RunPosition | null;
  /** Names what the ledger knows of the lane from now on; changes where it starts over. */
  readonly generation: string;
}

/**
 * Resets the facts of a lane whose meaning has changed, before its run reads. Watermarks are always reset, so that everything is
 * read once and what differs is delivered. Another key, or too little that was known, resets everything. Another cursor and other
 * requests reset the cursor values of records: another area may hand out lower ones. With other fields each record is taken again,
 * from where its first read began. Records in quarantine are of their account: with another one their rows close.
 *
 * Where everything is reset, the last batch of an earlier run that only the destination has is skipped; otherwise it must be
 * recorded before. One transaction; repeating it is harmless.
 *
 * `null` if a newer attempt holds the lane, or its facts changed their meaning since this one began; nothing was changed.
 */
export async function conformLane(db: Db, scope: OrgScope, conformation: Conformation): Promise<Conformed | null> {
  const { laneId, fence, runId, before, meaning, changed } = conformation;
  return db.transaction().execute(async (tx) => {
    const anew = { generation: newGeneration, recordedWith: null, recordedSince: null };
    const lane = await tx
      .updateTable('lanes')
      .set({ meaning: JSON.stringify(meaning), ...(forgetsRecords(changed) && anew) })
      .where('orgId', '=', scope.orgId)
      .where('id', '=', laneId)
      .where('fence', '=', fence)
      .where(sql<boolean>`meaning is not distinct from ${before && JSON.stringify(before)}::jsonb`)
      .returning('generation')
      .executeTakeFirst();
    if (!lane) return null;
    if (changed.length > 0) await reset(tx, scope, conformation);
    const run = await tx
      .selectFrom('runs')
      .select('position')
      .where('orgId', '=', scope.orgId)
      .where('id', '=', runId)
      .executeTakeFirst();
    return { position: run?.position ?? null, generation: lane.generation };
  });
}

async function reset(tx: Db, scope: OrgScope, { laneId, runId, changed }: Conformation): Promise<void> {
  if (changed.every((facet) => facet === 'fields')) await clearProgress(tx, scope, laneId);
  else await deletePartitions(tx, scope, laneId);
  if (forgetsRecords(changed)) {
    await deleteRecordStates(tx, scope, { laneId, runId });
    await passOverEndedRuns(tx, scope, { laneId, runId });
  } else {
    if (changed.includes('cursor') || changed.includes('read')) {
      await forget(tx, scope, { laneId, ...cursors });
      await forget(tx, scope, { laneId, ...leaves });
      await forget(tx, scope, { laneId, ...misses });
      await deleteListed(tx, scope, laneId);
    }
    if (changed.includes('places')) {
      await forget(tx, scope, { laneId, ...places });
      await deletePlaces(tx, scope, laneId);
    }
    if (changed.includes('account')) {
      await forget(tx, scope, { laneId, ...keptBack });
      await closeAll(tx, scope, laneId);
    }
    if (changed.includes('fields')) {
      await noteCleared(tx, scope, { laneId, runId });
      await forget(tx, scope, { laneId, ...fields });
    }
  }
  const note: RunNote = forgetsRecords(changed) ? 'started_over' : 'read_from_start';
  await tx
    .updateTable('runs')
    .set({
      watermarkBefore: null,
      watermarkAfter: null,
      readCompleted: false,
      position: sql<
        string | null
      >`case when backfill ->> 'rewind' = 'true' then ${JSON.stringify(rewindStart)}::jsonb end`,
      notes: sql<string>`notes || ${JSON.stringify({ [note]: 1 })}::jsonb`,
    })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .where('laneId', '=', laneId)
    .where('status', '=', 'running')
    .execute();
}

/** Notes unknown meanings of lanes before the spec or the params of their connection change. */
export async function keepMeanings(
  tx: Db,
  scope: OrgScope,
  { connectionId, meanings }: { readonly connectionId: string; readonly meanings: ReadonlyMap<string, StoredMeaning> },
): Promise<void> {
  const texts = [...meanings.values()].map((meaning) => JSON.stringify(meaning));
  await sql`
    update lanes set meaning = known.meaning::jsonb || coalesce(lanes.meaning, '{}')
    from unnest(${[...meanings.keys()]}::text[], ${texts}::text[]) known (resource_key, meaning)
    where lanes.org_id = ${scope.orgId} and lanes.connection_id = ${connectionId}
      and lanes.resource_key = known.resource_key`.execute(tx);
}

/** The lanes' facts are of another account: the next run reads from the start, and until then they have no parents. */
export async function readFromStart(
  tx: Db,
  scope: OrgScope,
  { connectionId, resourceKeys }: { readonly connectionId: string; readonly resourceKeys: readonly string[] },
): Promise<void> {
  await sql`
    update lanes set meaning = coalesce(meaning, '{}') || ${JSON.stringify(ofOtherAccount)}::jsonb
    where org_id = ${scope.orgId} and connection_id = ${connectionId} and resource_key = any(${resourceKeys}::text[])`.execute(
    tx,
  );
}

/** By resource; `null` if unknown, missing if the resource never ran. */
export async function findMeanings(
  tx: Db,
  scope: OrgScope,
  connectionId: string,
): Promise<ReadonlyMap<string, StoredMeaning | null>> {
  const rows = await tx
    .selectFrom('lanes')
    .select(['resourceKey', 'meaning'])
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .execute();
  return new Map(rows.map(({ resourceKey, meaning }) => [resourceKey, meaning]));
}
