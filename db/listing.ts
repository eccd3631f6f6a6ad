import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from './schema.ts';

/** A whole list: how long it is, and its rows, read while they are consumed. */
export interface Listing<Row> {
  readonly total: number;
  readonly rows: AsyncIterable<Row>;
}

/** How one kind of row is read batch by batch. */
export interface ListingSource<Row> {
  /** The `limit` rows after `last` in the order of the list; null means from the start. */
  batch(last: Row | null, limit: number): Promise<readonly Row[]>;
  /** How many rows there are in all; asked only when they do not fit into one batch. */
  count(): Promise<number>;
}

/** Rows read at once: large enough that the round trip does not count, small enough that memory stays flat. */
const batchRows = 1000;

/** Opens a list. A short one costs a single query; a long one is never in memory as a whole. */
export async function openListing<Row>(source: ListingSource<Row>): Promise<Listing<Row>> {
  const first = await source.batch(null, batchRows);
  const complete = first.length < batchRows;
  return { total: complete ? first.length : await source.count(), rows: rowsFrom(first, source) };
}

/** Opens the list of what a query of one table selects, newest first: ids are ordered by time. */
export function openNewestFirst<TB extends keyof Database, Row extends { readonly id: string }>(
  query: SelectQueryBuilder<Database, TB, Row>,
): Promise<Listing<Row>> {
  return openListing({
    batch(last, limit) {
      const behind = last === null ? query : query.where(sql<SqlBool>`id < ${last.id}`);
      return behind.orderBy(sql`id`, 'desc').limit(limit).execute();
    },
    count: () => countRows(query.clearSelect()),
  });
}

/** How many rows a query without columns selects. */
export async function countRows<TB extends keyof Database>(
  query: SelectQueryBuilder<Database, TB, object>,
): Promise<number> {
  const { count } = await query.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  return count;
}

async function* rowsFrom<Row>(first: readonly Row[], source: ListingSource<Row>): AsyncIterable<Row> {
  for (let rows = first; rows.length > 0; ) {
    yield* rows;
    const last = rows.at(-1);
    rows = rows.length < batchRows || last === undefined ? [] : await source.batch(last, batchRows);
  }
}
