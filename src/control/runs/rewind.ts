import type { Db } from '../../../db/client.ts';
import { findRunsSince } from '../../../db/queries/runs/lanes/rewind.ts';
import type { Backfill } from '../../../db/schema.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { conflict, invalid, schemaIssue } from '../../core/errors.ts';
import type { Resource } from '../../core/spec/schema/spec-schema.ts';

interface Rewind {
  readonly connectionId: string;
  readonly resource: Resource;
  /** True if its destination is a table, which can be restored. */
  readonly keepsRows: boolean;
  /** ISO. */
  readonly to: string;
  /** Another start named by the request, or `null`. */
  readonly from: string | number | null;
  /** Sends deletes that the brake holds back. */
  readonly force: boolean;
}

/**
 * Sets the lane back to the lowest watermark with which a run since that time began, or to its beginning if one read from
 * before its watermark. Throws validation (the time is in the future), conflict (the destination cannot be filled again, or
 * need not be).
 */
export async function planRewind(
  db: Db,
  scope: OrgScope,
  { connectionId, resource, keepsRows, to, from: otherStart, force }: Rewind,
): Promise<Backfill> {
  const { key: resourceKey, target, incremental, forEach } = resource;
  if (Date.parse(to) > Date.now()) throw refused('rewindTo', 'expected a time in the past');
  if (otherStart !== null) throw refused('from', '`rewindTo` says where to start: remove `from`');
  if (!keepsRows) {
    throw conflict(
      `${resourceKey} goes to a webhook, which has nothing to restore: to send all records again, request a backfill with \`force\`.`,
    );
  }
  if (target.mode === 'append') {
    throw conflict(
      `${resourceKey} keeps every version (mode append), and the API has only the last ones: to deliver those again, request a backfill with \`force\`.`,
    );
  }
  const isOpaque = incremental?.kind === 'token' || incremental?.cursor.type === 'string';
  const since = await findRunsSince(db, scope, { connectionId, resourceKey, since: to, isOpaque });
  if (since.count === 0) {
    throw conflict(`No run of ${resourceKey} was in progress after ${to}: there is nothing to deliver again.`);
  }
  // Only the API knows the order of opaque cursors, so the lowest of several partitions is unknown.
  const isComparable = !isOpaque || forEach.length === 0;
  const from = since.readsBefore || !isComparable ? null : since.watermark;
  return { from, force, rewind: true };
}

const refused = (path: string, message: string) => invalid('The start is not valid.', [schemaIssue(path, message)]);
