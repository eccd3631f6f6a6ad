import { sql } from 'kysely';
import type { RunRow, RunStatus, RunTrigger } from '../../../src/core/resources/run.ts';
import type { Db } from '../../client.ts';
import { type Listing, openNewestFirst } from '../../listing.ts';
import { firstIdAfter, firstIdSince, newestPage, type Page, type PageRequest } from '../../page.ts';
import type { OrgScope } from '../../scope.ts';
import { type RunLine, runColumns, runLineColumns } from './run-columns.ts';

export interface RunFilter {
  readonly id?: string | undefined;
  readonly connectionId?: string | undefined;
  readonly resource?: string | undefined;
  readonly status?: RunStatus | undefined;
  readonly trigger?: RunTrigger | undefined;
  /** ISO time of the request, inclusive. */
  readonly since?: string | undefined;
  /** ISO timestamp: runs requested before it. */
  readonly until?: string | undefined;
  readonly errorCode?: string | undefined;
  readonly limit?: number | undefined;
}

export async function listRuns(db: Db, scope: OrgScope, filter: RunFilter): Promise<Listing<RunRow>> {
  return await openNewestFirst(matching(db, scope, filter).select(runColumns), { storedBytes, limit: filter.limit });
}

/** A watermark of a string cursor is as long as the API makes it. */
const storedBytes = sql<number>`coalesce(pg_column_size(watermark_before), 0)
  + coalesce(pg_column_size(watermark_after), 0) + coalesce(pg_column_size(error_message), 0)`;

export const findRunsPage = (
  db: Db,
  scope: OrgScope,
  filter: RunFilter,
  request: PageRequest,
): Promise<Page<RunLine>> => newestPage(matching(db, scope, filter).select(runLineColumns), request);

function matching(db: Db, scope: OrgScope, filter: RunFilter) {
  const { id, connectionId, resource, status, trigger, since, until, errorCode } = filter;
  let runs = db.selectFrom('runs').where('orgId', '=', scope.orgId);
  if (id !== undefined) runs = runs.where('id', '=', id);
  if (connectionId !== undefined) runs = runs.where('connectionId', '=', connectionId);
  if (resource !== undefined) runs = runs.where('resourceKey', '=', resource);
  if (status !== undefined) runs = runs.where('status', '=', status);
  if (trigger !== undefined) runs = runs.where('trigger', '=', trigger);
  if (since !== undefined) runs = runs.where('createdAt', '>=', since).where('id', '>=', firstIdSince('run', since));
  if (until !== undefined) runs = runs.where('createdAt', '<', until).where('id', '<', firstIdAfter('run', until));
  if (errorCode !== undefined) runs = runs.where('errorCode', '=', errorCode);
  return runs;
}
