import { createHash } from 'node:crypto';
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

/** An event in the bytes that every attempt to deliver it sends. */
export interface Envelope {
  readonly id: string;
  readonly payload: Buffer;
  readonly sha256: Buffer;
}

/** Changes of the form within one version only add to it. */
export const apiVersion = '2026-11';

/** The id of an event: the same for the same occurrence, so that it cannot be recorded twice. */
export const eventIdOf = (orgId: string, { type, subject }: Pick<DomainEvent, 'type' | 'subject'>): string =>
  hashId('evt', [orgId, type, subject]);

/** The envelope of a domain event. `sequence` counts the events of its connection; null: it is about none. */
export function toEnvelope(
  { type, subject, workspaceId, connectionId, runId, data }: DomainEvent,
  {
    orgId,
    occurredAt,
    sequence,
  }: { readonly orgId: string; readonly occurredAt: string; readonly sequence: number | null },
): Envelope {
  const id = eventIdOf(orgId, { type, subject });
  const ids = { orgId, workspaceId, connectionId, runId };
  const payload = Buffer.from(JSON.stringify({ id, type, timestamp: occurredAt, apiVersion, ...ids, sequence, data }));
  return { id, payload, sha256: createHash('sha256').update(payload).digest() };
}
