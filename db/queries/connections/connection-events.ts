import type { DomainEvent } from '../../../src/core/events/envelope.ts';
import type { EventConnection } from '../../../src/core/events/event-connection.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { recordEvent } from '../webhooks/events.ts';

/** The connection as events show it, also a deleted one; undefined when it is absent or of another org. */
function findEventConnection(db: Db, scope: OrgScope, id: string): Promise<EventConnection | undefined> {
  return db
    .selectFrom('connections')
    .innerJoin('specs', 'specs.id', 'connections.specId')
    .select([
      'connections.id',
      'connections.displayName',
      'connections.externalCustomerId',
      'connections.workspaceId',
      'specs.key as specKey',
      'connections.pinnedSpecVersion',
      'connections.status',
    ])
    .where('connections.orgId', '=', scope.orgId)
    .where('connections.id', '=', id)
    .executeTakeFirst();
}

/**
 * Records the events that `eventsOf` returns for the connection as it is now; see {@link recordEvent}. Records nothing for
 * one that does not exist. Returns how many endpoints each is queued for, as a sum.
 */
export async function recordConnectionEvents(
  tx: Db,
  scope: OrgScope,
  id: string,
  eventsOf: (connection: EventConnection) => readonly DomainEvent[],
): Promise<number> {
  const connection = await findEventConnection(tx, scope, id);
  let queuedFor = 0;
  if (!connection) return queuedFor;
  for (const domainEvent of eventsOf(connection)) queuedFor += await recordEvent(tx, scope, domainEvent);
  return queuedFor;
}
