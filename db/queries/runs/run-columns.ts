import { type ExpressionBuilder, sql } from 'kysely';
import * as v from 'valibot';
import { RunRow, RunStats } from '../../../src/core/resources/run.ts';
import type { Database } from '../../schema.ts';

/** Columns that are stored as they are; a field without a column does not compile. */
export const storedColumns = v.keyof(v.omit(RunRow, ['statsJson', 'error'])).options;
export const statsColumns = v.keyof(RunStats).options;

export const runColumns = (eb: ExpressionBuilder<Database, 'runs'>) =>
  [
    ...storedColumns,
    statsJson(eb),
    sql<RunRow['error']>`case when ${eb.ref('errorCode')} is not null
      and (${eb.ref('status')} in ('queued', 'running', 'failed') or ${eb.ref('status')} = 'canceled' and ${eb.ref('errorCode')} = 'terminated') then
      jsonb_build_object('code', ${eb.ref('errorCode')}, 'message', ${eb.ref('errorMessage')}) end`.as('error'),
  ] as const;

/** A run without its watermarks and its message, which can be long. */
export type RunLine = Pick<
  RunRow,
  'id' | 'connectionId' | 'resourceKey' | 'trigger' | 'status' | 'startedAt' | 'finishedAt' | 'statsJson'
> & { readonly errorCode: string | null };

export const runLineColumns = (eb: ExpressionBuilder<Database, 'runs'>) =>
  [
    'id',
    'connectionId',
    'resourceKey',
    'trigger',
    'status',
    'startedAt',
    'finishedAt',
    'errorCode',
    statsJson(eb),
  ] as const;

const statsJson = (eb: ExpressionBuilder<Database, 'runs'>) =>
  sql<RunRow['statsJson']>`jsonb_build_object(${sql.join(
    statsColumns.flatMap((name) => [sql.lit(name), eb.ref(name)]),
  )})`.as('statsJson');
