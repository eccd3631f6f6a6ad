import * as v from 'valibot';
import type { DomainEvent } from './envelope.ts';
import { aboutConnection, EventConnection } from './event-connection.ts';
import type { EventDeclarations } from './event-declaration.ts';
import { exampleConnection } from './examples.ts';

const Seconds = v.pipe(v.number(), v.minValue(0));

const Freshness = v.object({
  connection: EventConnection,
  resourceKey: v.string(),
  lastSuccessAt: v.pipe(v.nullable(v.string()), v.description('ISO 8601, UTC; null: no run has succeeded yet.')),
  expectedIntervalSeconds: v.pipe(
    v.nullable(Seconds),
    v.description('The longest interval between two runs of its schedules; null: it no longer has a schedule.'),
  ),
  ageSeconds: v.pipe(v.nullable(Seconds), v.description('Since the last success; null: there was none.')),
});

export interface FreshnessFacts extends v.InferOutput<typeof Freshness> {
  /** Distinguishes changes; equal for the same one. */
  readonly deduplicationId: string;
}

export const connectionOverdue = (facts: FreshnessFacts): DomainEvent => ({
  ...toResource(facts),
  type: 'connection.overdue',
});

export const connectionOnTime = (facts: FreshnessFacts): DomainEvent => ({
  ...toResource(facts),
  type: 'connection.on_time',
});

function toResource({ deduplicationId, ...data }: FreshnessFacts) {
  const { connection, resourceKey } = data;
  return { ...aboutConnection(connection), subject: `${connection.id} ${resourceKey} ${deduplicationId}`, data };
}

const example: FreshnessFacts = {
  connection: exampleConnection,
  resourceKey: 'contacts',
  lastSuccessAt: '2026-03-01T08:30:12.470Z',
  expectedIntervalSeconds: 900,
  ageSeconds: 2700,
  deduplicationId: 'example',
};

export const freshnessEvents: EventDeclarations<'connection.overdue' | 'connection.on_time'> = {
  'connection.overdue': {
    summary: 'The data of a resource are older than its schedules allow.',
    data: Freshness,
    example: connectionOverdue(example).data,
  },
  'connection.on_time': {
    summary: 'The data of a resource that was overdue are fresh again.',
    data: Freshness,
    example: connectionOnTime({ ...example, ageSeconds: 0 }).data,
  },
};
