import type { DomainEvent } from '../../../src/core/events/envelope.ts';
import type { EventConnection } from '../../../src/core/events/event-connection.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { recordEvent } from '../webhooks/events.ts';

/** The connection as events show it, also a deleted one; undefined when it is absent or of another org. */
function findConnectionFacts(db: Db, scope: OrgScope, id: string): Promise<EventConnection | undefined> {
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
 * Records the event that `tell` returns for the current connection; see {@link recordEvent}. Nothing for one that does
 * not exist. Returns how many endpoints they are queued for.
 */
export async function recordOfConnection(
  tx: Db,
  scope: OrgScope,
  id: string,
  tell: (connection: EventConnection) => readonly DomainEvent[],
): Promise<number> {
  const connection = await findConnectionFacts(tx, scope, id);
  let queuedFor = 0;
  if (!connection) return queuedFor;
  for (const domainEvent of tell(connection)) queuedFor += await recordEvent(tx, scope, domainEvent);
  return queuedFor;
}
