import type * as real from '../../../../db/queries/runs/batches/outbox.ts';
import type { ControlState, StoredOutbox } from '../store/control-state.ts';
import { memoryOf } from '../store/memory-db.ts';
import { holdsLaneIn } from './batch-owner.ts';

type Db = Parameters<typeof real.openOutbox>[0];

/** As in the real module: null, and nothing is changed, when a newer attempt holds the lane. */
const asOwner = <Result>(
  db: Db,
  name: string,
  { owner, work }: { readonly owner: real.OutboxOwner; readonly work: (state: ControlState) => Result },
): Promise<Result | null> => memoryOf(db).transact(name, (state) => (holdsLaneIn(state, owner) ? work(state) : null));

/** As the query of the same name. */
export const openOutbox: typeof real.openOutbox = (
  db,
  { orgId },
  { owner, target: { address, standing }, generation },
) =>
  asOwner(db, 'openOutbox', {
    owner,
    work(state) {
      const { laneId } = owner;
      const known = state.outboxes.get(String(laneId));
      const stands = known ? standing(known) : 'other';
      if (known && stands !== 'other') {
        const isOver = known.generation !== generation && known.pendingRunId === null;
        const row = state.outboxes.update(known, {
          ...(stands === 'former' && { address, target: null }),
          ...(isOver && { generation, ...noCheckpoint }),
        });
        return shown(state, row, { runId: owner.runId, generation });
      }
      if (known) state.outboxParts.deleteWhere((row) => row.laneId === laneId);
      const { sequence, sequenceRunId } = known ?? { sequence: 0, sequenceRunId: null };
      const row = state.outboxes.put({
        ...empty,
        ...{ orgId, laneId, address, target: null, generation, sequence, sequenceRunId },
      });
      return shown(state, row, { runId: owner.runId, generation });
    },
  });

const nothingPending = {
  pendingRunId: null,
  pendingBatchNo: null,
  pendingDraft: null,
  pendingRejected: null,
} as const;

const noCheckpoint = {
  ...{ runId: null, batchNo: null, receipt: null },
  ...{ carriedRunId: null, carriedReceipt: null },
} as const;

const empty = {
  ...nothingPending,
  ...noCheckpoint,
  ...{ bytesMax: null, bytesMaxRunId: null, failures: 0, failingSince: null, failingRunId: null },
} as const;

interface ShownTo {
  readonly runId: string;
  readonly generation: string;
}

function shown(state: ControlState, row: StoredOutbox, { runId, generation }: ShownTo): real.OutboxRow {
  const { runId: checkpointRun, batchNo, receipt, pendingRunId, pendingBatchNo, pendingDraft, pendingRejected } = row;
  const isOfBefore = row.generation !== generation;
  const hasCheckpoint = !isOfBefore && checkpointRun !== null && batchNo !== null && receipt !== null;
  const isPending =
    pendingRunId !== null && pendingBatchNo !== null && pendingDraft !== null && pendingRejected !== null;
  return {
    checkpoint: hasCheckpoint ? { runId: checkpointRun, batchNo, receipt } : null,
    pending: isPending
      ? {
          ...{ runId: pendingRunId, batchNo: pendingBatchNo, draft: pendingDraft, rejected: pendingRejected },
          parts: partsOf(state, row.laneId),
          isOfBefore,
        }
      : null,
    carried: row.carriedRunId === runId ? row.carriedReceipt : null,
    sequence: row.sequenceRunId === runId ? row.sequence : 0,
    bytesMax: row.bytesMaxRunId === runId ? row.bytesMax : null,
  };
}

const partsOf = (state: ControlState, laneId: number): real.OutboxPartRow[] =>
  state.outboxParts
    .where((part) => part.laneId === laneId)
    .toSorted((a, b) => Number(a.again) - Number(b.again) || comparePaths(a.path, b.path))
    .map(({ body, indexes, orgId: _org, laneId: _lane, ...part }) => ({
      ...part,
      body: Buffer.from(body),
      indexes: [...indexes],
    }));

/** By their numbers; a path comes before those that it begins. */
function comparePaths(a: string, b: string): number {
  const [first, second] = [a.split('.').map(Number), b.split('.').map(Number)];
  const place = first.findIndex((number, index) => number !== second[index]);
  return place === -1 ? first.length - second.length : (first[place] ?? -1) - (second[place] ?? -1);
}

/** As the query of the same name. */
export const putPending: typeof real.putPending = (db, { orgId }, { owner, pending, sequence }) =>
  asOwner(db, 'putPending', {
    owner,
    work(state) {
      const { runId, batchNo, draft, rejected, parts } = pending;
      const row = state.outboxes.get(String(owner.laneId));
      const hasCheckpoint = row?.runId === runId && (row.batchNo ?? 0) >= batchNo;
      if (!row || hasCheckpoint) return null;
      state.outboxes.update(row, {
        ...{ pendingRunId: runId, pendingBatchNo: batchNo, pendingDraft: draft, pendingRejected: rejected },
        ...{ sequence, sequenceRunId: runId },
      });
      insertParts(state, { orgId, laneId: owner.laneId, parts });
      return true as const;
    },
  });

/** As the query of the same name. */
export const doubtPart: typeof real.doubtPart = (db, _scope, { owner, part }) =>
  asOwner(db, 'doubtPart', {
    owner,
    work(state) {
      const isPart = (row: real.OutboxPartRow & { readonly laneId: number }) =>
        row.laneId === owner.laneId && row.path === part.path && row.again === part.again;
      state.outboxParts.updateWhere(isPart, { isDoubted: true });
      return true as const;
    },
  });

/** As the query of the same name. */
export const advancePending: typeof real.advancePending = (db, { orgId }, { owner, part, refused, parts, bytesMax }) =>
  asOwner(db, 'advancePending', {
    owner,
    work(state) {
      const { laneId, runId } = owner;
      state.outboxParts.deleteWhere(
        (row) => row.laneId === laneId && row.path === part.path && row.again === part.again,
      );
      insertParts(state, { orgId, laneId, parts });
      const row = state.outboxes.get(String(laneId));
      if (!row) return true as const;
      const bounds = [...(row.bytesMaxRunId === runId ? [row.bytesMax] : []), bytesMax].filter((max) => max !== null);
      const { pendingRejected } = row;
      state.outboxes.update(row, {
        pendingRejected:
          refused === null || pendingRejected === null ? pendingRejected : `${pendingRejected}\n${refused}`,
        bytesMax: bounds.length > 0 ? Math.min(...bounds) : null,
        bytesMaxRunId: runId,
        failures: 0,
        failingSince: null,
      });
      return true as const;
    },
  });

/** As the query of the same name. */
export const countFailure: typeof real.countFailure = (db, _scope, owner) =>
  asOwner(db, 'countFailure', {
    owner,
    work(state) {
      const row = opened(state, owner.laneId);
      const isOngoing = row.failingRunId === owner.runId && row.failingSince !== null;
      const failures = isOngoing ? row.failures + 1 : 1;
      const failingSince = isOngoing && row.failingSince !== null ? row.failingSince : state.now();
      state.outboxes.update(row, { failures, failingSince, failingRunId: owner.runId });
      return { failures, sinceMs: state.nowMs() - Date.parse(failingSince) };
    },
  });

/** As the query of the same name. */
export const endPending: typeof real.endPending = (db, _scope, { owner, receipt }) =>
  asOwner(db, 'endPending', {
    owner,
    work(state) {
      state.outboxParts.deleteWhere(({ laneId }) => laneId === owner.laneId);
      const row = state.outboxes.get(String(owner.laneId));
      if (row)
        state.outboxes.update(row, { ...(receipt === null ? {} : completed(row, owner, receipt)), ...nothingPending });
      return true as const;
    },
  });

function completed(row: StoredOutbox, { runId }: real.OutboxOwner, receipt: string): Partial<StoredOutbox> {
  const { pendingRunId, pendingBatchNo } = row;
  if (pendingRunId === null) throw new Error('A receipt without a pending batch violates a check constraint');
  const isCarried = pendingRunId !== runId;
  const keeps = row.carriedRunId === runId;
  return {
    ...{ runId: pendingRunId, batchNo: pendingBatchNo, receipt },
    carriedRunId: isCarried || keeps ? runId : null,
    carriedReceipt: isCarried ? receipt : keeps ? row.carriedReceipt : null,
  };
}

function opened(state: ControlState, laneId: number): StoredOutbox {
  const row = state.outboxes.get(String(laneId));
  if (!row) throw new Error(`Lane ${laneId} has no outbox`);
  return row;
}

interface NewParts {
  readonly orgId: string;
  readonly laneId: number;
  readonly parts: readonly real.OutboxPartRow[];
}

function insertParts(state: ControlState, { orgId, laneId, parts }: NewParts): void {
  if (parts.length > 0) opened(state, laneId);
  for (const { body, indexes, ...part } of parts)
    state.outboxParts.insert({ orgId, laneId, ...part, body: Buffer.from(body), indexes: [...indexes] });
}
