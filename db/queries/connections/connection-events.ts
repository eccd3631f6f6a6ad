import type { DomainEvent } from '../../../src/core/events/envelope.ts';
import type { EventConnection } from '../../../src/core/events/event-connection.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { recordEvent } from '../webhooks/events.ts';

/** Also finds a deleted connection. */
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
 * Records events for the connection as it is now, see {@link recordEvent}; none if it does not exist. Returns the number of
 * messages.
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
