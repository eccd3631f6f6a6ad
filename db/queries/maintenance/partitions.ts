/**
 * Tables partitioned by the time in an id. Nothing here waits long for a lock: a change that does not get it fails and is
 * retried. Rows without a partition go to the default one, so nothing depends on when partitions are made.
 */
import { type RawBuilder, sql } from 'kysely';
import { firstIdAt, type IdPrefix, timeOfId } from '../../../src/core/ids.ts';
import type { Db } from '../../client.ts';

const keys = {
  call_log: { column: 'run_id', prefix: 'run' },
  webhook_deliveries: { column: 'id', prefix: 'whd' },
  hook_requests: { column: 'id', prefix: 'hreq' },
  hook_triggers: { column: 'request_id', prefix: 'hreq' },
} as const satisfies Readonly<Record<string, { readonly column: string; readonly prefix: IdPrefix }>>;

export type PartitionedTable = keyof typeof keys;

/** `to` is excluded. */
export interface PartitionRange {
  readonly from: Date;
  readonly to: Date;
}

export interface Partition extends PartitionRange {
  readonly name: string;
}

/** Without the default partition, oldest first. */
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
 * Makes a partition of the free part of a range, behind the rows of the default partition; `false` if nothing is free. Throws
 * when a lock is not free.
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
    // Created first and attached then: this needs a weaker lock on the table than `create table … partition of`.
    await sql`create table ${name} (like ${sql.table(table)} including all)`.execute(tx);
    await sql`alter table ${sql.table(table)} attach partition ${name} for values ${bounds}`.execute(tx);
    return true;
  });
}

/** Deliveries kept when their partition is dropped: attempts of an event with something left to send. */
const openDeliveries = (name: string) => sql`
  event_id in (select event_id from ${sql.table(name)} where state in ('queued', 'sending'))
  or event_id in (
    select event_id from webhook_messages join webhook_events on webhook_events.id = event_id where status = 'pending')`;

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

/** Rows that must be kept move to the default partition; returns their number. Throws when a lock is not free. */
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
    // The exclusive lock is held from here on, so the selection must be fast: by indexes, never through the whole partition.
    await sql`set local enable_seqscan = off`.execute(tx);
    await sql`lock table ${sql.table(table)} in access exclusive mode`.execute(tx);
    await sql`create temporary table kept_rows on commit drop as select * from ${name} where ${kept}`.execute(tx);
    await sql`drop table ${name}`.execute(tx);
    const { numAffectedRows = 0n } = await sql`
      insert into ${sql.table(table)} select * from kept_rows`.execute(tx);
    return Number(numAffectedRows);
  });
}

/** The short timeout yields to users of the table, who would queue behind a waiting lock. */
async function lockPartitions(tx: Db, table: PartitionedTable): Promise<void> {
  await sql`set local lock_timeout = '200ms'`.execute(tx);
  await sql`select pg_advisory_xact_lock(hashtext(${`partitions of ${table}`}))`.execute(tx);
}
