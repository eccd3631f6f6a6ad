import { sql } from 'kysely';
import type { QuarantineRow } from '../../../src/core/resources/quarantine.ts';
import type { Db } from '../../client.ts';
import { type Listing, openNewestFirst } from '../../listing.ts';
import type { OrgScope } from '../../scope.ts';

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
  const storedBytes = sql<number>`pg_column_size(raw_json) + pg_column_size(validation_errors)`;
  return openNewestFirst(ofConnection.select(columns), { storedBytes });
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
