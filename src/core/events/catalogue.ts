import * as v from 'valibot';
import type { EventType } from '../resources/event-types.ts';
import { connectionEvents } from './connection-events.ts';
import { endpointEvents } from './endpoint-events.ts';
import { apiVersion } from './envelope.ts';
import type { EventDeclarations } from './event-declaration.ts';
import { freshnessEvents } from './freshness-events.ts';
import { orgEvents } from './org-events.ts';
import { recordEvents } from './record-events.ts';
import { runEvents } from './run-events.ts';
import { scheduleEvents } from './schedule-events.ts';

export const eventCatalogue: EventDeclarations<EventType> = {
  ...runEvents,
  ...recordEvents,
  ...connectionEvents,
  ...freshnessEvents,
  ...scheduleEvents,
  ...orgEvents,
  ...endpointEvents,
};

const id = (of: string) => v.pipe(v.nullable(v.string()), v.description(`Null: the event is not about a ${of}.`));

export const EventEnvelope = v.object({
  id: v.pipe(v.string(), v.description('The same for every attempt to deliver it; also `webhook-id`.')),
  type: v.string(),
  timestamp: v.pipe(v.string(), v.description('When it happened: ISO 8601, UTC.')),
  apiVersion: v.literal(apiVersion),
  orgId: v.string(),
  workspaceId: id('workspace'),
  connectionId: id('connection'),
  runId: id('run'),
  sequence: v.pipe(
    v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))),
    v.description('Counts the events of the connection without gaps; null: the event is not about a connection.'),
  ),
});

export const eventSchema = (type: EventType) =>
  v.object({ ...EventEnvelope.entries, type: v.literal(type), data: eventCatalogue[type].data });

const exampleIds = {
  id: 'evt_01kaemm0dce7xb1k4c1m1f2p3q',
  orgId: 'org_01kaemm0dce7xb1k4c1m1f2p3q',
  workspaceId: 'ws_01kaemm0dce7xb1k4c1m1f2p3q',
  connectionId: 'con_01kaemm0dce7xb1k4c1m1f2p3q',
  runId: 'run_01kaemm0dce7xb1k4c1m1f2p3q',
} as const;

export function exampleEvent(type: EventType): v.InferOutput<ReturnType<typeof eventSchema>> {
  const ofRun = Object.hasOwn(runEvents, type) || type === 'records.quarantined';
  const ofConnection = ofRun || /^(?:connection|records|schedule)\./.test(type);
  return {
    id: exampleIds.id,
    type,
    timestamp: '2026-03-01T08:30:12.481Z',
    apiVersion,
    orgId: exampleIds.orgId,
    workspaceId: ofConnection ? exampleIds.workspaceId : null,
    connectionId: ofConnection ? exampleIds.connectionId : null,
    runId: ofRun ? exampleIds.runId : null,
    sequence: ofConnection ? 41 : null,
    data: eventCatalogue[type].example,
  };
}
