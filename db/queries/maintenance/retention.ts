/**
 * Removes expired data of every org in batches. Locked rows are left to a later batch, and nothing waits for a lock. So several
 * processes may remove at once, beside all other work.
 */
import { type RawBuilder, sql } from 'kysely';
import { firstIdAt } from '../../../src/core/ids.ts';
import type { Db } from '../../client.ts';

export interface OldRows {
  readonly before: Date;
  /** Maximum rows to remove; an event counts once, with its messages and deliveries. */
  readonly rowsMax: number;
}

/** Only the default partition: the others are dropped as a whole. */
export const purgeCalls = (db: Db, { before, rowsMax }: OldRows): Promise<number> =>
  purge(db, { table: 'call_log_default', old: sql`created_at < ${before}`, order: sql`created_at`, rowsMax });

export const purgeResolved = (db: Db, { before, rowsMax }: OldRows): Promise<number> => {
  const old = sql`resolved_at < ${before} and requeued_at is null`;
  return purge(db, { table: 'quarantine', old, order: sql`resolved_at`, rowsMax });
};

/** The runs stay, with their counts. */
export const purgePages = (db: Db, { before, rowsMax }: OldRows): Promise<number> =>
  purge(db, { table: 'run_pages', old: ofEndedRun(before), order: sql`run_id, page_no`, rowsMax });

export const purgeDimensions = (db: Db, { before, rowsMax }: OldRows): Promise<number> =>
  purge(db, { table: 'run_dimensions', old: ofEndedRun(before), order: sql`run_id, dimension, no`, rowsMax });

/** A run that ended before was also created before, so only the front of the primary key is read. */
const ofEndedRun = (before: Date) => sql`
  run_id < ${firstIdAt('run', before)} and (select finished_at from runs where runs.id = run_id) < ${before}`;

export const purgeRecoveries = (db: Db, { before, rowsMax }: OldRows): Promise<number> => {
  const old = sql`created_at < ${before} and not exists (
    select 1 from webhook_messages where recovery_id = webhook_recoveries.id)`;
  return purge(db, { table: 'webhook_recoveries', old, order: sql`created_at`, rowsMax });
};

/** The endpoint's log expires by its own age. */
export const purgeEndpoints = (db: Db, { before, rowsMax }: OldRows): Promise<number> => {
  const old = sql`deleted_at < ${before}
    and not exists (select 1 from webhook_deliveries where endpoint_id = webhook_endpoints.id)
    and not exists (select 1 from webhook_messages where endpoint_id = webhook_endpoints.id)
    and not exists (select 1 from webhook_recoveries where endpoint_id = webhook_endpoints.id)`;
  return purge(db, { table: 'webhook_endpoints', old, order: sql`deleted_at`, rowsMax });
};

/** Keeps a key while another one that it has made exists. */
export const purgeApiKeys = (db: Db, { before, rowsMax }: OldRows): Promise<number> => {
  const over = sql`least(revoked_at, expires_at)`;
  const old = sql`${over} < ${before}
    and not exists (select 1 from api_keys made where made.created_by_key_id = api_keys.id)`;
  return purge(db, { table: 'api_keys', old, order: over, rowsMax });
};

/** Long after they ended: an org may look for who did not get to the end. */
export const purgeConnectSessions = (db: Db, { before, rowsMax }: OldRows): Promise<number> =>
  purge(db, {
    table: 'connect_sessions',
    old: sql`ended_at < ${before} and state <> 'open'`,
    order: sql`ended_at`,
    rowsMax,
  });

interface Purged {
  readonly table: string;
  readonly old: RawBuilder<unknown>;
  /** Index order, oldest first. */
  readonly order: RawBuilder<unknown>;
  readonly rowsMax: number;
}

async function purge(db: Db, { table, old, order, rowsMax }: Purged): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select ctid from ${sql.table(table)} where ${old} order by ${order} limit ${rowsMax} for update skip locked))`.execute(
    db,
  );
  return Number(numAffectedRows);
}

/**
 * Removes old events, each with its messages and deliveries in one transaction: a listed delivery can always be sent again. An
 * event stays while a message of it waits, or an attempt is requested or in progress.
 *
 * A transaction that queues an old event again locks it (`for key share`) or its message. If it commits before the first
 * statement takes the event, the second statement sees it; later it finds no event.
 */
export function purgeEvents(db: Db, { before, rowsMax }: OldRows): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ id: string }>`
      select id from webhook_events
      where occurred_at < ${before} and not ${isOpen} and not exists (
        select 1 from webhook_messages where event_id = webhook_events.id and status = 'pending')
      order by occurred_at limit ${rowsMax} for update skip locked`.execute(tx);
    if (rows.length === 0) return 0;
    const ids = rows.map(({ id }) => id);
    const { numAffectedRows = 0n } = await sql`
      with ended as materialized (
        select seq from webhook_messages
        where event_id = any(${ids}::text[]) and status <> 'pending' for update skip locked),
      held as materialized (
        select event_id from webhook_messages
        where event_id = any(${ids}::text[]) and seq not in (select seq from ended))
      delete from webhook_events
      where id = any(${ids}::text[]) and not ${isOpen} and id not in (select event_id from held)`.execute(tx);
    return Number(numAffectedRows);
  });
}

const isOpen = sql`exists (
  select 1 from webhook_deliveries where event_id = webhook_events.id and state in ('queued', 'sending'))`;
