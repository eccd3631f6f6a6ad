/**
 * Resources of the REST interface, one file each: a valibot schema and a type of the same name. The API checks and
 * documents with the schema; the database and the engine use the type. This file has their common parts.
 */
import * as v from 'valibot';

export const Timestamp = v.pipe(v.string(), v.description('ISO 8601, UTC.'), v.examples(['2026-03-01T08:30:00.000Z']));

export const Deleted = v.object({ deleted: v.literal(true) });

export const deleted = () => ({ deleted: true }) as const;

export const Count = v.pipe(v.number(), v.integer(), v.minValue(0));
