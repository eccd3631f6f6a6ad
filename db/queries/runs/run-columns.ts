import { type ExpressionBuilder, sql } from 'kysely';
import * as v from 'valibot';
import { RunRow, RunStats } from '../../../src/core/resources/run.ts';
import type { Database } from '../../schema.ts';

/** The columns that are stored as they are; a field without a column does not compile. */
export const storedColumns = v.keyof(v.omit(RunRow, ['statsJson', 'error'])).options;
/** The columns of {@link RunStats}, each a field of its own. */
export const statsColumns = v.keyof(RunStats).options;

/** The columns of a {@link RunRow}. */
export const runColumns = (eb: ExpressionBuilder<Database, 'runs'>) =>
  [
    ...storedColumns,
    sql<RunRow['statsJson']>`jsonb_build_object(${sql.join(
      statsColumns.flatMap((name) => [sql.lit(name), eb.ref(name)]),
    )})`.as('statsJson'),
    sql<RunRow['error']>`case when ${eb.ref('errorCode')} is not null
      and ${eb.ref('status')} in ('queued', 'running', 'failed') then
      jsonb_build_object('code', ${eb.ref('errorCode')}, 'message', ${eb.ref('errorMessage')}) end`.as('error'),
  ] as const;
