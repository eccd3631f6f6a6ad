import { hashId } from '../ids.ts';
import type { JsonObject } from '../json/json-object.ts';
import type { EventType } from '../resources/event-types.ts';

/** Something that happened, before it is an event. */
export interface DomainEvent {
  readonly type: EventType;
  /** What it happened to, and which time if it can happen again: the same occurrence is the same event. */
  readonly subject: string;
  readonly workspaceId: string | null;
  readonly connectionId: string | null;
  readonly runId: string | null;
  /** A snapshot of rows as the API shows them: no records, no params, no secrets. */
  readonly data: JsonObject;
}

/** An event in the text that every attempt to deliver it sends, around its place among the events of its connection. */
export interface Envelope {
  readonly id: string;
  readonly beforeSequence: string;
  readonly afterSequence: string;
}

/** Changes of the form within one version only add to it. */
export const apiVersion = '2026-11';

/** The id of an event: the same for the same occurrence, so that it cannot be recorded twice. */
export const eventIdOf = (orgId: string, { type, subject }: Pick<DomainEvent, 'type' | 'subject'>): string =>
  hashId('evt', [orgId, type, subject]);

/** The envelope of a domain event. Its sequence is a number, or null if it is about no connection. */
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
