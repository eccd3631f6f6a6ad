import * as v from 'valibot';
import { RunRow } from '../resources/run.ts';
import { ScheduleRow } from '../resources/schedule.ts';
import { EventConnection } from './event-connection.ts';

export const exampleConnection = exampleOf(EventConnection);

export const exampleRun = exampleOf(RunRow);

export const exampleSchedule = exampleOf(ScheduleRow);

export const exampleQuarantineId = 'quar_01kaemm0dce7xb1k4c1m1f2p3q';
export const exampleEndpoint = {
  endpointId: 'whe_01kaemm0dce7xb1k4c1m1f2p3q',
  url: 'https://hooks.acme.example/syncs',
} as const;

/** The first example of each field, or `null`; throws for a field that has none and is not nullable. */
function exampleOf<Entries extends v.ObjectEntries>(row: v.ObjectSchema<Entries, undefined>) {
  const fields = Object.entries(row.entries).map(([name, field]) => [name, exampleOfField(field)]);
  return v.parse(row, Object.fromEntries(fields));
}

function exampleOfField(field: v.ObjectEntries[string]): unknown {
  if (v.isOfType('object', field)) return exampleOf(field as v.ObjectSchema<v.ObjectEntries, undefined>);
  const [example = null] = v.getExamples(field);
  return example;
}
