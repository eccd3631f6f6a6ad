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

export function listQuarantine(db: Db, scope: OrgScope, connectionId: string): Promise<Listing<QuarantineRow>> {
  const ofConnection = db
    .selectFrom('quarantine')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId);
  const storedBytes = sql<number>`pg_column_size(raw_json) + pg_column_size(validation_errors)`;
  return openNewestFirst(ofConnection.select(columns), { storedBytes });
}

export function findQuarantined(db: Db, scope: OrgScope, id: string): Promise<QuarantineRow | undefined> {
  return db
    .selectFrom('quarantine')
    .select(columns)
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export interface QuarantineLine extends Omit<QuarantineRow, 'rawJson' | 'validationErrors'> {
  readonly beginning: string;
  /** `null` where the error says nothing. */
  readonly firstError: { readonly path: string | null; readonly message: string | null };
  readonly createdAt: string;
}

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

export interface QuarantineCount extends LaneKey {
  readonly records: number;
}

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
