/**
 * The resources of the REST interface, a file each. Each is a valibot schema and a type of the same name: the API checks
 * and documents with the schema, the database and the engine use the type. This file has what several of them consist of.
 */
import * as v from 'valibot';

/** A point in time as ISO 8601 text in UTC. */
export const Timestamp = v.pipe(v.string(), v.description('ISO 8601, UTC.'), v.examples(['2026-03-01T08:30:00.000Z']));

/** The response to a deletion. */
export const Deleted = v.object({ deleted: v.literal(true) });

/** Gives {@link Deleted}. */
export const deleted = () => ({ deleted: true }) as const;

/** A number of records or rows, from 0. */
export const Count = v.pipe(v.number(), v.integer(), v.minValue(0));
