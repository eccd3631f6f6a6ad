import type { Kysely } from 'kysely';
import type { Database } from '../../db/schema.ts';
import type { Config } from '../config/config.ts';

/** What a command found or did: one JSON document, and the same for people. */
export interface CommandResult {
  readonly json: unknown;
  readonly lines: readonly string[];
  /** Whether not everything could be done, as the document says; the exit code is then 1. */
  readonly failed?: boolean;
}

/** What commands work with. */
export interface AdminTools {
  readonly db: Kysely<Database>;
  /** The configuration; its `databaseUrl` is that of `db`. */
  readonly config: Config;
  /** Writes a line of a result that has no end. */
  show(this: void, line: string): void;
  /** Writes a line for whoever waits; never into the result. */
  progress(this: void, line: string): void;
}
