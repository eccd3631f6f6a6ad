import * as v from 'valibot';
import { ScheduleRow } from '../resources/schedule.ts';
import type { DomainEvent } from './envelope.ts';
import { aboutConnection, type EventConnection } from './event-connection.ts';
import type { EventDeclarations } from './event-declaration.ts';
import { exampleConnection, exampleSchedule } from './examples.ts';

const ScheduleChanged = v.object({ schedule: ScheduleRow });
const ScheduleUpdated = v.object({ schedule: ScheduleRow, previous: ScheduleRow });
const SkipReason = v.picklist(['overlap', 'connection_not_active', 'spec_invalid', 'catch_up_window']);
const ScheduleSkipped = v.object({
  schedule: ScheduleRow,
  scheduledFor: v.pipe(
    v.nullable(v.string()),
    v.description('When it was due to fire: ISO 8601, UTC. Null with catch_up_window: Temporal reports only how many.'),
  ),
  reason: v.pipe(
    SkipReason,
    v.description(
      'overlap: a run of the resource is already queued and will read the same. spec_invalid: the effective spec of the connection does not allow the run. catch_up_window: Temporal was unavailable for too long, and the firings were dropped.',
    ),
  ),
  firings: v.pipe(
    v.number(),
    v.description('How many were skipped: 1, or with catch_up_window all since the last event.'),
  ),
});

export type SkipReason = Exclude<v.InferOutput<typeof SkipReason>, 'catch_up_window'>;

export interface ScheduleFacts {
  readonly schedule: ScheduleRow;
  readonly connection: Pick<EventConnection, 'id' | 'workspaceId'>;
}

export const scheduleCreated = ({ schedule, connection }: ScheduleFacts): DomainEvent => ({
  ...aboutConnection(connection),
  type: 'schedule.created',
  subject: schedule.id,
  data: { schedule } satisfies v.InferOutput<typeof ScheduleChanged>,
});

/** `deduplicationId` distinguishes changes. */
export const scheduleUpdated = ({
  schedule,
  connection,
  previous,
  deduplicationId,
}: ScheduleFacts & { readonly previous: ScheduleRow; readonly deduplicationId: string }): DomainEvent => ({
  ...aboutConnection(connection),
  type: 'schedule.updated',
  subject: `${schedule.id} ${deduplicationId}`,
  data: { schedule, previous } satisfies v.InferOutput<typeof ScheduleUpdated>,
});

/** The event shows the last state of the schedule. */
export const scheduleDeleted = ({ schedule, connection }: ScheduleFacts): DomainEvent => ({
  ...aboutConnection(connection),
  type: 'schedule.deleted',
  subject: schedule.id,
  data: { schedule } satisfies v.InferOutput<typeof ScheduleChanged>,
});

export const scheduleSkipped = ({
  schedule,
  connection,
  scheduledFor,
  reason,
}: ScheduleFacts & { readonly scheduledFor: string; readonly reason: SkipReason }): DomainEvent => ({
  ...aboutConnection(connection),
  type: 'schedule.skipped',
  subject: `${schedule.id} ${scheduledFor}`,
  data: { schedule, scheduledFor, reason, firings: 1 } satisfies v.InferOutput<typeof ScheduleSkipped>,
});

/** Temporal was unavailable for longer than a schedule's catch-up window and dropped this many firings. */
export const scheduleMissed = ({
  schedule,
  connection,
  missed,
  notedAt,
}: ScheduleFacts & { readonly missed: number; readonly notedAt: string }): DomainEvent => ({
  ...aboutConnection(connection),
  type: 'schedule.skipped',
  subject: `${schedule.id} ${notedAt}`,
  data: { schedule, scheduledFor: null, reason: 'catch_up_window', firings: missed } satisfies v.InferOutput<
    typeof ScheduleSkipped
  >,
});

const example: ScheduleFacts = { schedule: exampleSchedule, connection: exampleConnection };

export const scheduleEvents: EventDeclarations<
  'schedule.created' | 'schedule.updated' | 'schedule.deleted' | 'schedule.skipped'
> = {
  'schedule.created': {
    summary: 'A schedule was created.',
    data: ScheduleChanged,
    example: scheduleCreated(example).data,
  },
  'schedule.updated': {
    summary: 'A schedule was enabled or disabled.',
    data: ScheduleUpdated,
    example: scheduleUpdated({
      ...example,
      previous: { ...exampleSchedule, enabled: false },
      deduplicationId: 'example',
    }).data,
  },
  'schedule.deleted': {
    summary: 'A schedule was deleted.',
    data: ScheduleChanged,
    example: scheduleDeleted(example).data,
  },
  'schedule.skipped': {
    summary: 'A schedule fired and created no run.',
    data: ScheduleSkipped,
    example: scheduleSkipped({ ...example, scheduledFor: '2026-03-01T08:30:00.000Z', reason: 'overlap' }).data,
  },
};
