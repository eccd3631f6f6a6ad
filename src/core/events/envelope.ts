import { hashId } from '../ids.ts';
import type { JsonObject } from '../json/json-object.ts';
import type { EventType } from '../resources/event-types.ts';

/** Something that happened, before it becomes an event. */
export interface DomainEvent {
  readonly type: EventType;
  /** Identifies the occurrence: its object and, if it can recur, which time; equal subjects are the same event. */
  readonly subject: string;
  readonly workspaceId: string | null;
  readonly connectionId: string | null;
  readonly runId: string | null;
  /** A snapshot of rows as the API shows them: no records, no params, no secrets. */
  readonly data: JsonObject;
}

/** The text of an event that every delivery attempt sends, split around its sequence number. */
export interface Envelope {
  readonly id: string;
  readonly beforeSequence: string;
  readonly afterSequence: string;
}

/** Changes within one version only add to the form. */
export const apiVersion = '2026-11';

/** The id of an event: equal for the same occurrence, so it cannot be recorded twice. */
export const eventIdOf = (orgId: string, { type, subject }: Pick<DomainEvent, 'type' | 'subject'>): string =>
  hashId('evt', [orgId, type, subject]);

/** The sequence between the two parts is a number, or `null` without a connection. */
export function toEnvelope(
  { type, subject, workspaceId, connectionId, runId, data }: DomainEvent,
  { orgId, occurredAt }: { readonly orgId: string; readonly occurredAt: string },
): Envelope {
  const id = eventIdOf(orgId, { type, subject });
  const head = JSON.stringify({ id, type, timestamp: occurredAt, apiVersion, orgId, workspaceId, connectionId, runId });
  return {
    id,
    beforeSequence: `${head.slice(0, -1)},"sequence":`,
    afterSequence: `,"data":${JSON.stringify(data)}}`,
  };
}
