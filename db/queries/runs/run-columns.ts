import { type ExpressionBuilder, sql } from 'kysely';
import * as v from 'valibot';
import { RunRow } from '../../../src/core/resources/run.ts';
import type { Database } from '../../schema.ts';

/** The columns that are stored as they are; a field without a column does not compile. */
const columns = v.keyof(v.omit(RunRow, ['statsJson', 'error'])).options;

/** The columns of a {@link RunRow}. */
export const runColumns = (eb: ExpressionBuilder<Database, 'runs'>) =>
  [
    ...columns,
    sql<RunRow['statsJson']>`jsonb_build_object(
      'recordsIn', ${eb.ref('recordsIn')}, 'recordsOut', ${eb.ref('recordsOut')}, 'skipped', ${eb.ref('skipped')},
      'deleted', ${eb.ref('deleted')}, 'quarantined', ${eb.ref('quarantined')})`.as('statsJson'),
    sql<RunRow['error']>`case when ${eb.ref('errorCode')} is not null
      and ${eb.ref('status')} in ('queued', 'running', 'failed') then
      jsonb_build_object('code', ${eb.ref('errorCode')}, 'message', ${eb.ref('errorMessage')}) end`.as('error'),
  ] as const;
