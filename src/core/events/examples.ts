/** The rows that the examples of events are made of. */

import * as v from 'valibot';
import { RunRow } from '../resources/run.ts';
import { ScheduleRow } from '../resources/schedule.ts';
import { EventConnection } from './event-connection.ts';

/** The connection of the examples. */
export const exampleConnection = exampleOf(EventConnection);

/** A run of {@link exampleConnection} that has succeeded. */
export const exampleRun = exampleOf(RunRow);

/** A schedule of {@link exampleConnection}. */
export const exampleSchedule = exampleOf(ScheduleRow);

/** The id of a quarantined record. */
export const exampleQuarantineId = 'quar_01kaemm0dce7xb1k4c1m1f2p3q';
/** What events of endpoints say of the endpoint. */
export const exampleEndpoint = {
  endpointId: 'whe_01kaemm0dce7xb1k4c1m1f2p3q',
  url: 'https://hooks.acme.example/syncs',
} as const;

/** The first example of each field, or null. Throws for a field that has no example and may not be null. */
function exampleOf<Entries extends v.ObjectEntries>(row: v.ObjectSchema<Entries, undefined>) {
  const fields = Object.entries(row.entries).map(([name, field]) => [name, exampleOfField(field)]);
  return v.parse(row, Object.fromEntries(fields));
}

function exampleOfField(field: v.ObjectEntries[string]): unknown {
  if (v.isOfType('object', field)) return exampleOf(field as v.ObjectSchema<v.ObjectEntries, undefined>);
  const [example = null] = v.getExamples(field);
  return example;
}
