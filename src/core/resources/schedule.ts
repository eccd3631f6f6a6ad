import * as v from 'valibot';
import { ConnectionRow } from './connection.ts';

export const ScheduleRow = v.object({
  id: v.pipe(v.string(), v.examples(['sched_01kaemm0dce7xb1k4c1m1f2p3q'])),
  connectionId: ConnectionRow.entries.id,
  resourceKey: v.pipe(v.string(), v.examples(['contacts'])),
  cron: v.pipe(v.string(), v.description('5 fields, or 6 with the second first.'), v.examples(['*/15 * * * *'])),
  timezone: v.pipe(v.string(), v.description('A zone of the IANA database.'), v.examples(['Europe/Berlin'])),
  enabled: v.pipe(v.boolean(), v.examples([true])),
});
export type ScheduleRow = v.InferOutput<typeof ScheduleRow>;
