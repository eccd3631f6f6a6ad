import { sql } from 'kysely';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import type { QuarantineRow } from '../../../../src/core/resources/quarantine.ts';
import type { Db } from '../../../client.ts';
import { type Listing, openNewestFirst } from '../../../listing.ts';
import { newestPage, type Page, type PageRequest } from '../../../page.ts';
import type { OrgScope } from '../../../scope.ts';

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

/** A quarantined record as a page of them shows it: the beginning of the record. */
export interface QuarantineLine extends Omit<QuarantineRow, 'rawJson' | 'validationErrors'> {
  readonly beginning: string;
  /** The first of what is wrong; nulls: nothing is said. */
  readonly firstError: { readonly path: string | null; readonly message: string | null };
  readonly createdAt: string;
}

/** A page of the quarantined records of a connection that are not resolved. */
export function findQuarantinePage(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKey }: { readonly connectionId: string; readonly resourceKey?: string | undefined },
  request: PageRequest,
): Promise<Page<QuarantineLine>> {
  let open = db
    .selectFrom('quarantine')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('resolvedAt', 'is', null);
  if (resourceKey !== undefined) open = open.where('resourceKey', '=', resourceKey);
  return newestPage(
    open.select([
      'id',
      'connectionId',
      'resourceKey',
      'externalId',
      'resolvedAt',
      'createdAt',
      sql<string>`left(raw_json::text, 200)`.as('beginning'),
      sql<QuarantineLine['firstError']>`jsonb_build_object(
        'path', left(validation_errors #>> '{0,path}', 200), 'message', left(validation_errors #>> '{0,message}', 500))`.as(
        'firstError',
      ),
    ]),
    request,
  );
}

/** How many records of a connection are quarantined. */
export interface QuarantineCount extends LaneKey {
  readonly records: number;
}

/** The resources of the org with the most quarantined records that are not resolved. */
export async function countQuarantine(
  db: Db,
  scope: OrgScope,
  { limit, connectionId }: { readonly limit: number; readonly connectionId?: string },
): Promise<readonly QuarantineCount[]> {
  let open = db
    .selectFrom('quarantine')
    .select((eb) => ['connectionId', 'resourceKey', eb.fn.countAll<number>().as('records')])
    .where('orgId', '=', scope.orgId)
    .where('resolvedAt', 'is', null);
  if (connectionId !== undefined) open = open.where('connectionId', '=', connectionId);
  return open
    .groupBy(['connectionId', 'resourceKey'])
    .orderBy('records', 'desc')
    .orderBy('connectionId')
    .orderBy('resourceKey')
    .limit(limit)
    .execute();
}
