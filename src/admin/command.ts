import type { Kysely } from 'kysely';
import type { Database } from '../../db/schema.ts';
import type { Config } from '../config/config.ts';

export interface CommandResult {
  readonly json: unknown;
  readonly lines: readonly string[];
  /** Some work could not be done; the exit code is then 1. */
  readonly failed?: boolean;
}

export interface AdminTools {
  readonly db: Kysely<Database>;
  readonly config: Config;
  /** Writes a line of an endless result. */
  show(this: void, line: string): void;
  /** Never part of the result. */
  progress(this: void, line: string): void;
}
