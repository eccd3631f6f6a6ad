import { recordConnectionEvents } from '../../../db/queries/connections/connection-events.ts';
import { findConnection } from '../../../db/queries/connections/connections.ts';
import { findQuarantined } from '../../../db/queries/runs/records/quarantine.ts';
import { requeueAll, requeueOne } from '../../../db/queries/runs/records/requeue.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { found } from '../../core/errors.ts';
import { recordsRequeued } from '../../core/events/record-events.ts';
import { newId } from '../../core/ids.ts';
import type { QuarantineRow } from '../../core/resources/quarantine.ts';
import { type WakeDeps, wakeEndpoints } from '../../dispatch/wake-endpoints.ts';

interface RequeuedRecord {
  readonly record: QuarantineRow;
  /** False: it was resolved, and stays as it is. */
  readonly isRequeued: boolean;
}

/** For the next run of its resource. Throws not_found. */
export async function requeueRecord(deps: WakeDeps, scope: OrgScope, id: string): Promise<RequeuedRecord> {
  const tried = await deps.db.transaction().execute(async (tx) => {
    const isRequeued = await requeueOne(tx, scope, id);
    const record = found(await findQuarantined(tx, scope, id), 'Quarantined record');
    const { connectionId, resourceKey } = record;
    const one = { resourceKey, record, count: 1, deduplicationId: id };
    if (isRequeued) {
      await recordConnectionEvents(tx, scope, connectionId, (connection) => [recordsRequeued({ connection, ...one })]);
    }
    return { record, isRequeued };
  });
  void wakeEndpoints(deps, scope);
  return tried;
}

/** Returns the number of requeued records. */
export async function requeueConnection(
  deps: WakeDeps,
  scope: OrgScope,
  { connectionId, resourceKey }: { readonly connectionId: string; readonly resourceKey: string | null },
): Promise<number> {
  const count = await deps.db.transaction().execute(async (tx) => {
    found(await findConnection(tx, scope, connectionId), 'Connection');
    const requeued = await requeueAll(tx, scope, { connectionId, resourceKey });
    if (requeued === 0) return 0;
    const all = { resourceKey, record: null, count: requeued, deduplicationId: newId('evt') };
    await recordConnectionEvents(tx, scope, connectionId, (connection) => [recordsRequeued({ connection, ...all })]);
    return requeued;
  });
  void wakeEndpoints(deps, scope);
  return count;
}
