import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from './schema.ts';

/** A whole list, whose rows are read while they are consumed. */
export interface Listing<Row> {
  readonly total: number;
  readonly rows: AsyncIterable<Row>;
}

export interface ListingSource<Row> {
  /** The `limit` rows after `last` in list order; `null` starts at the first row. */
  batch(last: Row | null, limit: number): Promise<readonly Row[]>;
  /** Stored bytes of each of the next `limit` rows; absent where rows are known to be small. */
  measure?(last: Row | null, limit: number): Promise<readonly number[]>;
  /** Total number of rows; called only when they do not fit into one batch. */
  count(): Promise<number>;
}

/** Only for a list that the code itself has: rows of the database are never gathered for it. */
export const listingOf = <Row>(rows: readonly Row[]): Listing<Row> => ({
  total: rows.length,
  rows: (async function* () {
    yield* rows;
  })(),
});

export async function firstRows<Row>({ rows }: Listing<Row>, most: number): Promise<readonly Row[]> {
  const first: Row[] = [];
  for await (const row of rows) {
    if (first.push(row) >= most) break;
  }
  return first;
}

/** Large enough that the round trip does not count, small enough that memory stays flat. */
const batchRows = 1000;
/** Used instead of {@link batchRows} when rows are measured: all are measured for each batch, but few large ones are read. */
const measuredRows = 200;
/** Stored bytes per batch of several rows. Decompressed, they may be a hundred times as many. */
const batchBytes = 256 * 1024;

/** A short list costs a single query; a long one, or one of large rows, is never in memory as a whole. */
export async function openListing<Row>(source: ListingSource<Row>, most = Infinity): Promise<Listing<Row>> {
  const first = await nextBatch(source, null, most);
  return { total: first.isLast ? first.rows.length : await source.count(), rows: rowsFrom(first, source, most) };
}

interface ListBatch<Row> {
  readonly rows: readonly Row[];
  readonly isLast: boolean;
}

async function nextBatch<Row>(source: ListingSource<Row>, last: Row | null, most: number): Promise<ListBatch<Row>> {
  const limit = Math.min(most, source.measure ? measuredRows : batchRows);
  const sizes = (await source.measure?.(last, limit)) ?? null;
  const fitting = sizes === null ? limit : rowsWithin(sizes, batchBytes);
  const rows = await source.batch(last, fitting);
  const isEnd = sizes === null ? rows.length < limit : sizes.length < limit && fitting >= sizes.length;
  return { rows, isLast: isEnd || rows.length >= most };
}

/** Number of first rows that together have at most `bytes`, but at least one. */
function rowsWithin(sizes: readonly number[], bytes: number): number {
  let sum = 0;
  const over = sizes.findIndex((size) => {
    sum += size;
    return sum > bytes;
  });
  return Math.max(1, over === -1 ? sizes.length : over);
}

interface ListSize {
  readonly storedBytes?: RawBuilder<number>;
  readonly limit?: number | undefined;
}

/** Opens the list of what a query of one table selects, newest first: ids are ordered by time. */
export async function openNewestFirst<TB extends keyof Database, Row extends { readonly id: string }>(
  query: SelectQueryBuilder<Database, TB, Row>,
  { storedBytes, limit }: ListSize = {},
): Promise<Listing<Row>> {
  const behind = (last: Row | null) => (last === null ? query : query.where(sql<SqlBool>`id < ${last.id}`));
  const source: ListingSource<Row> = {
    batch: (last, count) => behind(last).orderBy(sql`id`, 'desc').limit(count).execute(),
    async count() {
      if (limit === undefined) return countRows(query.clearSelect());
      return (await query.clearSelect().select(sql`1`.as('one')).limit(limit).execute()).length;
    },
    ...(storedBytes && {
      async measure(last: Row | null, count: number) {
        const next = behind(last).clearSelect().select(storedBytes.as('bytes')).orderBy(sql`id`, 'desc').limit(count);
        return (await next.execute()).map(({ bytes }) => bytes);
      },
    }),
  };
  return await openListing(source, limit);
}

export async function countRows<TB extends keyof Database>(
  query: SelectQueryBuilder<Database, TB, object>,
): Promise<number> {
  const { count } = await query.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  return count;
}

async function* rowsFrom<Row>(first: ListBatch<Row>, source: ListingSource<Row>, most: number): AsyncIterable<Row> {
  let left = most;
  for (let batch = first; ; ) {
    yield* batch.rows;
    left -= batch.rows.length;
    const last = batch.rows.at(-1);
    if (batch.isLast || last === undefined) return;
    batch = await nextBatch(source, last, left);
  }
}
