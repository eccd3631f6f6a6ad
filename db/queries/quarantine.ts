import type { QuarantineRow } from '../../src/core/rows.ts';
import type { Db } from '../client.ts';
import { countRows, type Listing, openListing } from '../listing.ts';
import type { OrgScope } from '../scope.ts';

const columns = [
  'id',
  'connectionId',
  'resourceKey',
  'externalId',
  'rawJson',
  'validationErrors',
  'resolvedAt',
] as const;

/** The quarantined records of a connection, newest first. */
export function listQuarantine(db: Db, scope: OrgScope, connectionId: string): Promise<Listing<QuarantineRow>> {
  const ofConnection = db
    .selectFrom('quarantine')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId);
  return openListing({
    batch(last, limit) {
      const query = ofConnection.select(columns).orderBy('id', 'desc').limit(limit);
      return (last ? query.where('id', '<', last.id) : query).execute();
    },
    count: () => countRows(ofConnection),
  });
}

/** The quarantined record, or undefined when it is absent or of another org. */
export function findQuarantined(db: Db, scope: OrgScope, id: string): Promise<QuarantineRow | undefined> {
  return db
    .selectFrom('quarantine')
    .select(columns)
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
}
