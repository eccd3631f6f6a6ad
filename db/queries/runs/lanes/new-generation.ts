import { sql } from 'kysely';

/**
 * The name of another state of a lane, as SQL: for `lanes.generation` whenever the known records of a lane are forgotten. No
 * destination has it yet, so each one counts as new.
 */
export const newGeneration = sql<string>`gen_random_uuid()::text`;
