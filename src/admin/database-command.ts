/** The operator's command that makes a database to try a destination with. */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { hasCode } from '../core/error-code.ts';
import { AppError } from '../core/errors.ts';
import type { AdminTools, CommandResult } from './command.ts';

const taken = ['42710', '42P04'] as const;

/**
 * Creates a database beside the control database, owned by a login of its own. `name` is a letter and up to 39 small
 * letters, digits and _. Throws `conflict` when it is taken, and in production.
 */
export async function createDestinationDatabase({ db, config }: AdminTools, name: string): Promise<CommandResult> {
  if (config.production || config.databaseUrl === null)
    throw new AppError('conflict', 'In production a destination is never beside the control database.');
  const password = randomBytes(18).toString('base64url');
  try {
    await sql`create role ${sql.id(name)} login connection limit 20 password ${sql.lit(password)}`.execute(db);
    await sql`create database ${sql.id(name)} owner ${sql.id(name)}`.execute(db);
    // The login reaches its own database only: not the control database, and not those of others.
    const { rows } = await sql<{ control: string }>`select current_database() as control`.execute(db);
    for (const database of [name, ...rows.map(({ control }) => control)])
      await sql`revoke connect on database ${sql.id(database)} from public`.execute(db);
  } catch (cause) {
    if (!taken.some((code) => hasCode(cause, code))) throw cause;
    throw new AppError('conflict', `There is already a database or login "${name}": choose another name.`, { cause });
  }
  const url = new URL(config.databaseUrl);
  const address = `${url.hostname}:${url.port === '' ? '5432' : url.port}`;
  const databaseUrl = `postgres://${name}:${password}@${address}/${name}`;
  return {
    json: { databaseUrl, egressAllow: address },
    lines: [
      `database   ${databaseUrl}  (shown only once)`,
      'The spec needs ssl: disable.',
      `A service with a database of its own (DATABASE_URL) needs EGRESS_ALLOW=${address} when it starts.`,
    ],
  };
}
