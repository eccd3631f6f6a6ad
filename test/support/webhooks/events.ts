import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import * as v from 'valibot';
import type { Database } from '../../../db/schema.ts';
import { eventSchema } from '../../../src/core/events/catalogue.ts';
import { type EventType, eventTypes } from '../../../src/core/resources/event-types.ts';
import { strictForm } from '../service/strict-form.ts';

/** An event as receivers get it. */
export interface RecordedEvent {
  readonly id: string;
  readonly type: EventType;
  readonly connectionId: string | null;
  readonly runId: string | null;
  readonly sequence: number | null;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read fields and compare them; a wrong one fails there
  readonly data: any;
  /** All of it, as it is signed and sent. */
  readonly text: string;
}

/** Whose events. */
interface Whose {
  readonly orgId: string;
  /** Absent: those that are about no connection. */
  readonly connectionId?: string;
}

/**
 * The events that were recorded, in the order of their sequence, those of the org in the order of time. Throws for one
 * that is not exactly what the catalogue says, or whose columns do not say what its bytes do.
 */
export async function recordedEvents(db: Kysely<Database>, { orgId, connectionId }: Whose): Promise<RecordedEvent[]> {
  const rows = await db
    .selectFrom('webhookEvents')
    .selectAll()
    .where('orgId', '=', orgId)
    .where('connectionId', connectionId === undefined ? 'is' : '=', connectionId ?? null)
    .orderBy('sequence')
    .orderBy('occurredAt')
    .execute();
  return rows.map(({ payload, payloadSha256, occurredAt, ...row }) => {
    const text = payload.toString();
    const event = JSON.parse(text);
    v.parse(strictForm(eventSchema(v.parse(v.picklist(eventTypes), row.type))), event);
    const { apiVersion: _version, timestamp, data: _data, ...ids } = event;
    const sha256 = createHash('sha256').update(payload).digest();
    const said = { ...ids, timestamp, sha256: sha256.toString('hex') };
    const stored = { ...row, timestamp: occurredAt, sha256: payloadSha256.toString('hex') };
    if (JSON.stringify(sorted(said)) !== JSON.stringify(sorted(stored))) {
      throw new Error(`Row and bytes of an event differ: ${JSON.stringify([said, stored])}`);
    }
    return { ...event, text };
  });
}

const sorted = (object: object) => Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1));

/** Their types. */
export const typesOf = (events: readonly RecordedEvent[]): readonly EventType[] => events.map(({ type }) => type);

/** 1, 2, 3 and so on, as many as there are. */
export const withoutGaps = (events: readonly RecordedEvent[]): readonly number[] => events.map((_, index) => index + 1);
