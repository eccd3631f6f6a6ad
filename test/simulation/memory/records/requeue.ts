import type * as real from '../../../../db/queries/runs/records/requeue.ts';
import type { JsonObject } from '../../../../src/core/json/json-object.ts';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import type { ControlState, StoredQuarantine } from '../store/control-state.ts';
import { memoryOf } from '../store/memory-db.ts';

/** As the query of the same name. */
export const requeueOne: typeof real.requeueOne = (db, _scope, id) =>
  memoryOf(db).transact('requeueOne', (state) => requeue(state, (row) => row.id === id) === 1);

/** As the query of the same name. */
export const requeueAll: typeof real.requeueAll = (db, _scope, { connectionId, resourceKey }) =>
  memoryOf(db).transact('requeueAll', (state) =>
    requeue(
      state,
      (row) => row.connectionId === connectionId && (resourceKey === null || row.resourceKey === resourceKey),
    ),
  );

function requeue(state: ControlState, isAsked: (row: StoredQuarantine) => boolean): number {
  const open = state.quarantine.where((row) => row.resolvedAt === null && isAsked(row));
  const now = state.now();
  for (const row of open) state.quarantine.update(row, { resolvedAt: now, requeuedAt: isTooLarge(row) ? null : now });
  return open.length;
}

/** Of one that was too large only the beginning was kept. */
const isTooLarge = ({ validationErrors }: StoredQuarantine): boolean =>
  Array.isArray(validationErrors) && validationErrors.some((error: JsonObject) => error['keyword'] === 'too_large');

/** As the query of the same name. */
export const findRequeued: typeof real.findRequeued = (db, _scope, { connectionId, resourceKey, after, limit }) =>
  memoryOf(db).transact('findRequeued', (state) =>
    requeuedIn(state, { connectionId, resourceKey })
      .filter((row) => after === null || row.id > after)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit)
      .map((row) => ({
        ...{ id: row.id, externalId: row.externalId, version: row.version },
        ...{ record: row.rawJson, each: row.eachJson, sealed: row.sealedJson },
        isLast: !state.quarantine
          .where((other) => isLive(other) && other.id > row.id)
          .some((other) => isSame(other, row)),
      })),
  );

/** Whether a row is open, or waits for another try. */
export const isLive = (row: StoredQuarantine): boolean => row.resolvedAt === null || row.requeuedAt !== null;

const isSame = (a: StoredQuarantine, b: StoredQuarantine): boolean =>
  a.connectionId === b.connectionId && a.resourceKey === b.resourceKey && a.externalId === b.externalId;

/** Records of a lane that wait for another try, in any order. */
export const requeuedIn = (
  state: ControlState,
  lane: { readonly connectionId: string; readonly resourceKey: string },
): StoredQuarantine[] =>
  state.quarantine.where(
    (row) => row.connectionId === lane.connectionId && row.resourceKey === lane.resourceKey && row.requeuedAt !== null,
  );

/** As the query of the same name. */
export const noteReadsBefore: typeof real.noteReadsBefore = async (db, _scope, runId) =>
  memoryOf(db).transact('noteReadsBefore', (state) => {
    state.runs.updateWhere(({ id }) => id === runId, { readsBefore: true });
  });

/** As `markRetried` of the real module. */
export function markRetriedIn(
  state: ControlState,
  { connectionId, resourceKey, runId, ids }: LaneKey & { readonly runId: string; readonly ids: readonly string[] },
): void {
  if (ids.length === 0) return;
  state.runs.updateWhere(({ id }) => id === runId, { readsBefore: true });
  const isMeant = (row: StoredQuarantine) =>
    row.connectionId === connectionId && row.resourceKey === resourceKey && ids.includes(row.id);
  for (const row of state.quarantine.where(isMeant))
    state.quarantine.update(row, { requeuedAt: null, resolvedAt: row.resolvedAt ?? state.now() });
}

/** As `closeAll` of the real module. */
export function closeAllIn(state: ControlState, laneId: number): void {
  const lane = state.lanes.get(String(laneId));
  if (!lane) return;
  const isOpen = (row: StoredQuarantine) => isLive(row) && isOfLane(row, lane);
  for (const row of state.quarantine.where(isOpen))
    state.quarantine.update(row, { requeuedAt: null, resolvedAt: row.resolvedAt ?? state.now() });
}

const isOfLane = (row: StoredQuarantine, lane: Pick<LaneKey, 'connectionId' | 'resourceKey'>): boolean =>
  row.connectionId === lane.connectionId && row.resourceKey === lane.resourceKey;
