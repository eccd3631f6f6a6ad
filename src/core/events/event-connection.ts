import * as v from 'valibot';
import { ConnectionRow } from '../resources/connection.ts';
import type { DomainEvent } from './envelope.ts';

const { id, displayName, externalCustomerId, workspaceId, pinnedSpecVersion, status } = ConnectionRow.entries;

/** A connection as events show it, without params and overrides. */
export const EventConnection = v.object({
  id,
  displayName,
  externalCustomerId,
  workspaceId,
  specKey: v.pipe(v.string(), v.examples(['acme-crm'])),
  pinnedSpecVersion,
  status,
});
export type EventConnection = v.InferOutput<typeof EventConnection>;

export const aboutConnection = ({
  id: connectionId,
  workspaceId: ofWorkspace,
}: Pick<EventConnection, 'id' | 'workspaceId'>): Pick<DomainEvent, 'workspaceId' | 'connectionId' | 'runId'> => ({
  workspaceId: ofWorkspace,
  connectionId,
  runId: null,
});
