import { sql } from 'kysely';

/** Set whenever the known records of a lane are forgotten: no destination has it yet, so each one counts as new. */
export const newGeneration = sql<string>`gen_random_uuid()::text`;
