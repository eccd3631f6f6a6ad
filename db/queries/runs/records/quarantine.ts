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

/** Which quarantined records of a connection are meant; what is absent does not restrict. */
export interface QuarantineFilter {
  readonly connectionId: string;
  readonly resource?: string | undefined;
  /** The run that quarantined it last. */
  readonly runId?: string | undefined;
  /** The first of what is wrong, as {@link QuarantineReason} has it. */
  readonly path?: string | undefined;
  readonly message?: string | undefined;
}

/** The field of the first error; places in lists are `*`, so that equal reasons are equal. */
const firstPath = sql<string>`regexp_replace(
  left(coalesce(validation_errors #>> '{0,path}', ''), 200), '(^|\\.)[0-9]+(?=\\.|$)', '\\1*', 'g')`;
const firstMessage = sql<string>`left(coalesce(validation_errors #>> '{0,message}', ''), 500)`;

/** Open records of the filter; a reason is looked for among the newest {@link groupedMax} only, as when reasons are counted. */
function openRecords(db: Db, scope: OrgScope, { connectionId, resource, runId, path, message }: QuarantineFilter) {
  let open = db
    .selectFrom('quarantine')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('resolvedAt', 'is', null);
  if (resource !== undefined) open = open.where('resourceKey', '=', resource);
  if (runId !== undefined) open = open.where('runId', '=', runId);
  if (path === undefined && message === undefined) return open;
  const newest = open.select('id').orderBy('id', 'desc').limit(groupedMax);
  let alike = open.where('id', '>=', (eb) =>
    eb.selectFrom(newest.as('newest')).select((of) => of.fn.min('id').as('first')),
  );
  if (path !== undefined) alike = alike.where(firstPath, '=', path);
  if (message !== undefined) alike = alike.where(firstMessage, '=', message);
  return alike;
}

/** Quarantined records that share what is wrong first. */
export interface QuarantineReason {
  /** The field, such as `items.*.price`; empty: the record as a whole. */
  readonly path: string;
  /** Empty: nothing is said. */
  readonly message: string;
  readonly records: number;
  /** The newest of them, and what stands in its field; null: the record as read has no such field. */
  readonly example: { readonly id: string; readonly externalId: string; readonly value: string | null };
}

/** Records that are grouped, the newest first: what is behind them is left out. */
export const groupedMax = 1000;

/** Why records are quarantined, the most frequent reason first. */
export function findQuarantineReasons(
  db: Db,
  scope: OrgScope,
  { limit, ...filter }: QuarantineFilter & { readonly limit: number },
): Promise<readonly QuarantineReason[]> {
  const newest = openRecords(db, scope, filter)
    .select(['id', firstPath.as('path'), firstMessage.as('message')])
    .orderBy('id', 'desc')
    .limit(groupedMax);
  const grouped = db
    .selectFrom(newest.as('newest'))
    .select((eb) => ['path', 'message', eb.fn.countAll<number>().as('records'), eb.fn.max('id').as('exampleId')])
    .groupBy(['path', 'message'])
    .orderBy('records', 'desc')
    .orderBy('exampleId', 'desc')
    .limit(limit);
  return db
    .selectFrom(grouped.as('reason'))
    .innerJoin('quarantine', 'quarantine.id', 'reason.exampleId')
    .select([
      'reason.path',
      'reason.message',
      'reason.records',
      sql<QuarantineReason['example']>`jsonb_build_object('id', quarantine.id, 'externalId', external_id,
        'value', left((raw_json #> string_to_array(nullif(validation_errors #>> '{0,path}', ''), '.'))::text, 200))`.as(
        'example',
      ),
    ])
    .where('quarantine.orgId', '=', scope.orgId)
    .orderBy('reason.records', 'desc')
    .orderBy('reason.exampleId', 'desc')
    .execute();
}

export function findQuarantinePage(
  db: Db,
  scope: OrgScope,
  filter: QuarantineFilter,
  request: PageRequest,
): Promise<Page<QuarantineLine>> {
  return newestPage(
    openRecords(db, scope, filter).select([
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
