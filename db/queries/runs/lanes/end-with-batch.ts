import { expressionBuilder, sql } from 'kysely';
import type { EventConnection } from '../../../../src/core/events/event-connection.ts';
import type { Receipt } from '../../../../src/core/model/receipt.ts';
import type { RunRow } from '../../../../src/core/resources/run.ts';
import type { Db } from '../../../client.ts';
import type { Database } from '../../../schema.ts';
import type { OrgScope } from '../../../scope.ts';
import { type Placeholders, statement } from '../../../statement.ts';
import type { BatchOwner } from '../batches/batch-owner.ts';
import { recordSql, type StatementValues, statementValues } from '../batches/batch-statement.ts';
import { runColumns } from '../run-columns.ts';
import { cancelRequestedColumn, connectionColumn } from '../run-events.ts';

/** A run that has ended, with what its event needs. */
export interface EndedRow extends RunRow {
  readonly cancelRequested: boolean;
  readonly connection: EventConnection;
}

/**
 * Records the last batch of a run, which completes its read, and ends the run with it: as it is read to its end, nobody cancels
 * it any more. The pages of a run of one batch are not put into the ledger: the row of the run has the same numbers, and most
 * runs are of this kind. Undefined: it is not running, or the attempt does not hold the lane.
 */
export async function endWithBatch(
  tx: Db,
  scope: OrgScope,
  { owner, receipt }: { readonly owner: BatchOwner; readonly receipt: Receipt },
): Promise<EndedRow | undefined> {
  const [row] = await end(tx, await statementValues(scope, { owner, receipt, applied: false }));
  if (!row || row.id === null) return undefined;
  const { fence: _, ...ended } = row;
  return ended;
}

/** Nulls: nothing was changed. */
type Row = EndedRow & { readonly fence: number; readonly id: string | null };

const end = statement((_, v: Placeholders<StatementValues>) =>
  recordSql<Row>(v, {
    set: sql`, finished_at = now(), status = case
      when quarantined + ${v.quarantined}::int > 0 or incomplete or ${v.incomplete}::bool then 'partial' else 'succeeded' end`,
    where: sql`and status = 'running'`,
    pagesWhere: sql`where ${v.batchNo}::int > 1`,
    returning: sql.join([
      ...runColumns(expressionBuilder<Database, 'runs'>()).map((column) =>
        typeof column === 'string' ? sql.ref(column) : column,
      ),
      cancelRequestedColumn,
      connectionColumn,
    ]),
  }),
);
