import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { firstIdAt, type IdPrefix } from '../src/core/ids.ts';
import type { Database } from './schema.ts';

export interface PageRequest {
  /** Only rows older than this id; `null` starts with the newest. */
  readonly before: string | null;
  readonly limit: number;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** The `before` of the next page; `null` on the last one. */
  readonly next: string | null;
}

/** Newest first, as ids are ordered by time; without a total. */
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

const hourMs = 3_600_000;
/** An hour before, as an id has the time of the process that made it; older rows are not read. */
export const firstIdSince = (prefix: IdPrefix, since: string): string =>
  firstIdAt(prefix, new Date(Math.max(0, Date.parse(since) - hourMs)));
/** An hour behind, likewise. */
export const firstIdAfter = (prefix: IdPrefix, until: string): string =>
  firstIdAt(prefix, new Date(Math.max(0, Date.parse(until) + hourMs)));
