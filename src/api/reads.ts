import type { Db } from '../../db/client.ts';
import { findConnections } from '../../db/queries/connections/connections.ts';
import { findRuns } from '../../db/queries/runs/runs.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { ConnectionRow } from '../core/resources/connection.ts';
import type { RunRow } from '../core/resources/run.ts';
import { sharedQueries } from '../core/work/shared-queries.ts';

/** Rows that clients request by id, often many at once: one query serves all waiting requests of an org. */
export interface Reads {
  /** Undefined when it does not exist, is deleted or belongs to another org. */
  readonly connection: Read<ConnectionRow>;
  /** Undefined when it does not exist or belongs to another org. */
  readonly run: Read<RunRow>;
}

type Read<Row> = (scope: OrgScope, id: string) => Promise<Row | undefined>;

export const createReads = (db: Db): Reads => ({
  connection: readTogether((scope, ids) => findConnections(db, scope, ids)),
  run: readTogether((scope, ids) => findRuns(db, scope, ids)),
});

function readTogether<Row extends { readonly id: string }>(
  find: (scope: OrgScope, ids: readonly string[]) => Promise<readonly Row[]>,
): Read<Row> {
  const rowsOf = sharedQueries(
    async (wanted: readonly [Wanted, ...Wanted[]]) => {
      const rows = await find(wanted[0].scope, [...new Set(wanted.map(({ id }) => id))]);
      return new Map(rows.map((row) => [row.id, row]));
    },
    ({ scope }) => scope.orgId,
  );
  return async (scope, id) => (await rowsOf({ scope, id })).get(id);
}

interface Wanted {
  readonly scope: OrgScope;
  readonly id: string;
}
