import type { QuarantineRow } from '../../src/core/rows.ts';
import type { Db } from '../client.ts';
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

/** The quarantined records of a connection, newest first; of another org's connection none. */
export function listQuarantine(db: Db, scope: OrgScope, connectionId: string): Promise<QuarantineRow[]> {
  return db
    .selectFrom('quarantine')
    .select(columns)
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .orderBy('id', 'desc')
    .execute();
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
