import { sql } from 'kysely';
import type { Db } from '../../client.ts';

/** The bytes of the control database, without its write-ahead log. */
export async function readDatabaseBytes(db: Db): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(db);
  return rows[0]?.bytes ?? 0;
}
