import type { RunRow, RunStatus, RunTrigger } from '../../src/core/rows.ts';
import type { Db } from '../client.ts';
import { countRows, type Listing, openListing } from '../listing.ts';
import type { OrgScope } from '../scope.ts';
import { runColumns } from './run-columns.ts';

/** Filters of a list of runs; an absent one does not restrict. */
export interface RunFilter {
  readonly connectionId?: string | undefined;
  readonly resource?: string | undefined;
  readonly status?: RunStatus | undefined;
  readonly trigger?: RunTrigger | undefined;
  /** ISO timestamp: runs requested at or after it. */
  readonly since?: string | undefined;
}

/** The runs of the org that pass the filter, newest first. */
export function listRuns(db: Db, scope: OrgScope, filter: RunFilter): Promise<Listing<RunRow>> {
  const { connectionId, resource, status, trigger, since } = filter;
  let matching = db.selectFrom('runs').where('orgId', '=', scope.orgId);
  if (connectionId !== undefined) matching = matching.where('connectionId', '=', connectionId);
  if (resource !== undefined) matching = matching.where('resourceKey', '=', resource);
  if (status !== undefined) matching = matching.where('status', '=', status);
  if (trigger !== undefined) matching = matching.where('trigger', '=', trigger);
  if (since !== undefined) matching = matching.where('createdAt', '>=', since);
  return openListing({
    batch(last, limit) {
      const query = matching.select(runColumns).orderBy('id', 'desc').limit(limit);
      return (last ? query.where('id', '<', last.id) : query).execute();
    },
    count: () => countRows(matching),
  });
}
