/** An event's name never changes its meaning; the list only grows. */
export const eventTypes = [
  'run.started',
  'run.succeeded',
  'run.partial',
  'run.failed',
  'run.canceled',
  'records.quarantined',
  'records.requeued',
  'connection.created',
  'connection.activated',
  'connection.paused',
  'connection.error',
  'connection.recovered',
  'connection.reauth_required',
  'connection.spec_upgraded',
  'connection.overdue',
  'connection.on_time',
  'schedule.created',
  'schedule.updated',
  'schedule.deleted',
  'schedule.skipped',
  'spec.published',
  'spec.deprecated',
  'endpoint.failing',
  'endpoint.disabled',
  'api_key.created',
  'api_key.revoked',
  'webhook.test',
] as const;
export type EventType = (typeof eventTypes)[number];

/** Types that an endpoint gets only if it names them. */
const onRequest: ReadonlySet<EventType> = new Set([
  'run.started',
  'records.requeued',
  'schedule.created',
  'schedule.updated',
  'schedule.deleted',
  'api_key.created',
  'api_key.revoked',
  'webhook.test',
]);

/** Whether endpoints that name no types get this one. */
export const isDefaultEvent = (type: EventType): boolean => !onRequest.has(type);
