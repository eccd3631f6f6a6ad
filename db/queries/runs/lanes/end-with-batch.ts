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

export interface EndedRow extends RunRow {
  readonly cancelRequested: boolean;
  readonly connection: EventConnection;
}

/**
 * Records the last batch of a run and ends it: its read is complete, so it can no longer be canceled. The pages of a single-batch
 * run stay out of the ledger: the run's row has the same numbers, and most runs are of this kind.
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

/** `id` is `null` if nothing was changed. */
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
