import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from './schema.ts';

/** The requested rows of a list, newest first. */
export interface PageRequest {
  /** The rows behind the one with this id; null: from the newest. */
  readonly before: string | null;
  readonly limit: number;
}

/** Some rows of a list. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** The `before` of the next page; null: there is none. */
  readonly next: string | null;
}

/** One page of what a query of one table selects, newest first: ids are ordered by time. Nothing is counted. */
export async function newestPage<TB extends keyof Database, Row extends { readonly id: string }>(
  query: SelectQueryBuilder<Database, TB, Row>,
  { before, limit }: PageRequest,
): Promise<Page<Row>> {
  const behind = before === null ? query : query.where(sql<SqlBool>`id < ${before}`);
  const rows = await behind
    .orderBy(sql`id`, 'desc')
    .limit(limit + 1)
    .execute();
  const shown = rows.slice(0, limit);
  return { rows: shown, next: rows.length > limit ? (shown.at(-1)?.id ?? null) : null };
}
