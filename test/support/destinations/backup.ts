import type { AuditedDestination } from './audit.ts';

/** A connection whose database is restored. */
interface Restored {
  readonly destination: AuditedDestination;
}

/** What a customer's backup of a table holds. */
export async function backup({ destination }: Restored, table: string): Promise<string> {
  await destination.query(`create schema if not exists backup`);
  for (const name of [table, '_css_checkpoint']) {
    await destination.query(`drop table if exists backup.${name}`);
    await destination.query(`create table backup.${name} as table public.${name}`);
  }
  return new Date().toISOString();
}

/** Restores in place, as a snapshot of the whole server does: the table stays the same one. */
export async function restoreInPlace({ destination }: Restored, table: string): Promise<void> {
  for (const name of [table, '_css_checkpoint']) {
    await destination.query(`delete from public.${name}`);
    await destination.query(`insert into public.${name} overriding system value select * from backup.${name}`);
  }
}
