/** The rows that the examples of events are made of. */

import type { RunRow } from '../resources/run.ts';
import type { ScheduleRow } from '../resources/schedule.ts';
import type { EventConnection } from './event-connection.ts';

/** The connection of the examples. */
export const exampleConnection: EventConnection = {
  id: 'con_01kaemm0dce7xb1k4c1m1f2p3q',
  displayName: 'Acme CRM',
  externalCustomerId: 'cust_9',
  workspaceId: 'ws_01kaemm0dce7xb1k4c1m1f2p3q',
  specKey: 'acme-crm',
  pinnedSpecVersion: '1.4.0',
  status: 'active',
};

/** A run of {@link exampleConnection} that has succeeded. */
export const exampleRun: RunRow = {
  id: 'run_01kaemm0dce7xb1k4c1m1f2p3q',
  connectionId: exampleConnection.id,
  resourceKey: 'contacts',
  trigger: 'schedule',
  status: 'succeeded',
  startedAt: '2026-03-01T08:30:00.012Z',
  finishedAt: '2026-03-01T08:30:12.470Z',
  statsJson: { recordsIn: 1200, recordsOut: 37, skipped: 1163, deleted: 0, quarantined: 0 },
  watermarkBefore: '2026-03-01T08:15:00.000Z',
  watermarkAfter: '2026-03-01T08:30:00.000Z',
  error: null,
};

/** A schedule of {@link exampleConnection}. */
export const exampleSchedule: ScheduleRow = {
  id: 'sched_01kaemm0dce7xb1k4c1m1f2p3q',
  connectionId: exampleConnection.id,
  resourceKey: 'contacts',
  cron: '*/15 * * * *',
  timezone: 'Europe/Berlin',
  enabled: true,
};

/** The id of a quarantined record. */
export const exampleQuarantineId = 'quar_01kaemm0dce7xb1k4c1m1f2p3q';
/** What events of endpoints say of the endpoint. */
export const exampleEndpoint = {
  endpointId: 'whe_01kaemm0dce7xb1k4c1m1f2p3q',
  url: 'https://hooks.acme.example/syncs',
} as const;
