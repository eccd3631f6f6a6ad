/**
 * Tables that are partitioned by the time in an id. Nothing here waits long for a lock: a change that does not get it fails, and
 * is tried again. What belongs to no partition is in the default one, so nothing depends on when partitions are made.
 */
import { type RawBuilder, sql } from 'kysely';
import { firstIdAt, type IdPrefix, timeOfId } from '../../../src/core/ids.ts';
import type { Db } from '../../client.ts';

/** The column by which each table is partitioned, and the kind of its ids. */
const keys = {
  call_log: { column: 'run_id', prefix: 'run' },
  webhook_deliveries: { column: 'id', prefix: 'whd' },
  hook_requests: { column: 'id', prefix: 'hreq' },
  hook_triggers: { column: 'request_id', prefix: 'hreq' },
} as const satisfies Readonly<Record<string, { readonly column: string; readonly prefix: IdPrefix }>>;

/** A partitioned table. */
export type PartitionedTable = keyof typeof keys;

/** The times of the ids in a partition. */
export interface PartitionRange {
  readonly from: Date;
  /** The first instant behind it. */
  readonly to: Date;
}

/** A partition other than the default one. */
export interface Partition extends PartitionRange {
  readonly name: string;
}

/** The partitions of a table, the oldest first, without the default one. */
export async function findPartitions(db: Db, table: PartitionedTable): Promise<readonly Partition[]> {
  const { rows } = await sql<{ name: string; bound: string }>`
    select relname as name, pg_get_expr(relpartbound, pg_class.oid) as bound
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = ${table}::regclass`.execute(db);
  const found = rows.flatMap(({ name, bound }) => {
    const [, from, to] = /^FOR VALUES FROM \('(\w+)'\) TO \('(\w+)'\)$/.exec(bound) ?? [];
    return from === undefined || to === undefined ? [] : [{ name, from: timeOfId(from), to: timeOfId(to) }];
  });
  return found.toSorted((a, b) => a.from.getTime() - b.from.getTime());
}

/**
 * Makes a partition of what is free of a range: rows that the default partition has keep their place, and the partition begins
 * behind them. False: nothing of the range is free, or another process has made it. Throws when a lock is not free.
 */
export async function addPartition(db: Db, table: PartitionedTable, range: PartitionRange): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    await lockPartitions(tx, table);
    const { column, prefix } = keys[table];
    const { rows } = await sql<{ last: string | null }>`
      select max(${sql.ref(column)}) as last from ${sql.table(`${table}_default`)}
      where ${sql.ref(column)} >= ${firstIdAt(prefix, range.from)} and ${sql.ref(column)} < ${firstIdAt(prefix, range.to)}`.execute(
      tx,
    );
    const last = rows[0]?.last ?? null;
    const from = last === null ? range.from : new Date(timeOfId(last).getTime() + 1);
    const others = await findPartitions(tx, table);
    if (from >= range.to || others.some((other) => other.from < range.to && from < other.to)) return false;
    const name = sql.table(`${table}_${from.toISOString().replaceAll(/\D/g, '')}`);
    const bounds = sql`from (${sql.lit(firstIdAt(prefix, from))}) to (${sql.lit(firstIdAt(prefix, range.to))})`;
    // Made first and attached then, which needs a weaker lock on the table than `create table … partition of`.
    await sql`create table ${name} (like ${sql.table(table)} including all)`.execute(tx);
    await sql`alter table ${sql.table(table)} attach partition ${name} for values ${bounds}`.execute(tx);
    return true;
  });
}

/** What of a partition of deliveries is kept when it is dropped: attempts of an event with something left to send. */
const openDeliveries = (name: string) => sql`
  event_id in (select event_id from ${sql.table(name)} where state in ('queued', 'sending'))
  or event_id in (
    select event_id from webhook_messages join webhook_events on webhook_events.id = event_id where status = 'pending')`;

/** The rows of a partition of old ids that are to be kept all the same; null: none. */
function keptRows(table: PartitionedTable, { name }: Partition, before: Date): RawBuilder<unknown> | null {
  switch (table) {
    case 'call_log':
      return sql`created_at >= ${before}`;
    case 'webhook_deliveries':
      return openDeliveries(name);
    case 'hook_requests':
    case 'hook_triggers':
      return null;
  }
}

/**
 * Drops a partition of which every id was made before an instant. Rows that have to be kept all the same move to the default
 * partition; returns how many. Throws when a lock is not free.
 */
export async function dropPartition(
  db: Db,
  table: PartitionedTable,
  { partition, before }: { readonly partition: Partition; readonly before: Date },
): Promise<number> {
  return db.transaction().execute(async (tx) => {
    await lockPartitions(tx, table);
    const others = await findPartitions(tx, table);
    if (!others.some(({ name }) => name === partition.name)) return 0;
    const name = sql.table(partition.name);
    const kept = keptRows(table, partition, before);
    if (kept === null) {
      await sql`drop table ${name}`.execute(tx);
      return 0;
    }
    // Nothing comes or goes between the look and the end. So the look is short: by indexes, never through the whole partition.
    await sql`set local enable_seqscan = off`.execute(tx);
    await sql`lock table ${sql.table(table)} in access exclusive mode`.execute(tx);
    await sql`create temporary table kept_rows on commit drop as select * from ${name} where ${kept}`.execute(tx);
    await sql`drop table ${name}`.execute(tx);
    const { numAffectedRows = 0n } = await sql`
      insert into ${sql.table(table)} select * from kept_rows`.execute(tx);
    return Number(numAffectedRows);
  });
}

/**
 * Locks the partitions of a table: one process at a time changes them, and it gives way to whatever uses the table:
 * others would wait behind it.
 */
async function lockPartitions(tx: Db, table: PartitionedTable): Promise<void> {
  await sql`set local lock_timeout = '200ms'`.execute(tx);
  await sql`select pg_advisory_xact_lock(hashtext(${`partitions of ${table}`}))`.execute(tx);
}
