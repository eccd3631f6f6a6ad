import { orgScope } from '../../../db/scope.ts';
import * as attempts from '../../simulation/memory/attempts.ts';
import * as batches from '../../simulation/memory/batches/batches.ts';
import * as outbox from '../../simulation/memory/batches/outbox.ts';
import * as calls from '../../simulation/memory/calls.ts';
import { requestCancel } from '../../simulation/memory/cancel.ts';
import { findConnection } from '../../simulation/memory/connections.ts';
import * as dispatch from '../../simulation/memory/dispatch.ts';
import { beginRun } from '../../simulation/memory/lanes/begin-run.ts';
import { conformLane } from '../../simulation/memory/lanes/conform-lane.ts';
import { endRun } from '../../simulation/memory/lanes/end-run.ts';
import { forgetLane } from '../../simulation/memory/lanes/forget-lane.ts';
import { noteLeftovers, noteRestored } from '../../simulation/memory/lanes/leftovers.ts';
import { addWrittenColumns, findWrittenColumns } from '../../simulation/memory/lanes/written-columns.ts';
import * as lookups from '../../simulation/memory/lookup-cache.ts';
import * as sweep from '../../simulation/memory/maintenance/sweep.ts';
import * as listed from '../../simulation/memory/records/listed-deletions.ts';
import * as missing from '../../simulation/memory/records/missing-records.ts';
import { isLaneComplete } from '../../simulation/memory/records/parents.ts';
import { findRecordStates } from '../../simulation/memory/records/record-state.ts';
import * as requeue from '../../simulation/memory/records/requeue.ts';
import * as dimensions from '../../simulation/memory/run-dimensions.ts';
import * as runs from '../../simulation/memory/runs.ts';
import { findPinnedSpec } from '../../simulation/memory/specs.ts';
import { activateConnection, pauseConnection, upgradeConnection } from '../../simulation/memory/store/control.ts';
import { ControlState } from '../../simulation/memory/store/control-state.ts';
import { asDb } from '../../simulation/memory/store/memory-db.ts';
import { seedOrg } from '../../simulation/memory/store/seed-org.ts';
import type { ControlStore, Queries, StoreOrg } from './control-store.ts';
import type { Rows } from './observed.ts';

const memoryQueries: Queries = {
  findConnection,
  findPinnedSpec,
  ...{ takeLane: attempts.takeLane, resetAttempts: attempts.resetAttempts, noteFailure: attempts.noteFailure },
  ...{ recordBatch: batches.recordBatch, recordCarried: batches.recordCarried, passOver: batches.passOver },
  findBehindSince: batches.findBehindSince,
  conformLane,
  forgetLane,
  ...{ addWrittenColumns, findWrittenColumns },
  ...{ insertCalls: calls.insertCalls, lastCallSequence: calls.lastCallSequence },
  ...{ beginRun, endRun },
  ...lookups,
  ...listed,
  ...missing,
  ...outbox,
  findRecordStates,
  isLaneComplete,
  noteLeftovers,
  noteRestored,
  ...{ requeueOne: requeue.requeueOne, requeueAll: requeue.requeueAll, findRequeued: requeue.findRequeued },
  ...dimensions,
  ...runs,
  ...dispatch,
  requestCancel,
  ...sweep,
};

/** The queries of the simulation. Every transaction happens at once, in a millisecond of its own. */
export const openMemoryStore = async (): Promise<ControlStore> => ({
  openOrg: async () => openOrg(),
  async [Symbol.asyncDispose]() {},
});

function openOrg(): StoreOrg {
  let nowMs = Date.now();
  const state = new ControlState(() => nowMs);
  const db = asDb({
    async transact(_name, work) {
      nowMs += 1;
      return state.atomically(work);
    },
  });
  const { orgId, connectionId } = seedOrg(state, { '1.0.0': {}, '2.0.0': { v: 2 } });
  const scope = orgScope(orgId);
  return {
    db,
    scope,
    connectionId,
    queries: memoryQueries,
    pause: async () => (await pauseConnection(db, scope, connectionId)).connection,
    activate: () => activateConnection(db, scope, connectionId),
    upgrade: (version, plan) => upgradeConnection(db, scope, { id: connectionId, version, plan }),
    async passes(ms) {
      nowMs += ms;
    },
    rows: async () => rowsOf(state),
  };
}

const rowsOf = (state: ControlState): Rows => ({
  connections: state.connections.all(),
  lanes: sorted(state.lanes.all(), ({ resourceKey }) => [resourceKey]),
  runs: sorted(state.runs.all(), ({ seq }) => [seq]),
  partitions: sorted(state.partitions.all(), ({ laneId, partition }) => [laneId, partition]),
  recordState: sorted(state.records.all(), ({ laneId, externalId }) => [laneId, externalId]),
  recordPartitions: sorted(state.places.all(), ({ laneId, externalId, partition }) => [laneId, externalId, partition]),
  listedDeletions: sorted(state.listed.all(), ({ laneId, externalId, partition }) => [laneId, externalId, partition]),
  quarantine: sorted(state.quarantine.all(), ({ id }) => [id]),
  runPages: sorted(state.pages.all(), ({ runId, pageNo }) => [runId, pageNo]),
  outboxes: sorted(state.outboxes.all(), ({ laneId }) => [laneId]).map(withTexts),
  outboxParts: sorted(state.outboxParts.all(), ({ laneId, again, path }) => [laneId, Number(again), path]).map(
    withTexts,
  ),
  runDimensions: sorted(state.dimensions.all(), ({ runId, dimension, no }) => [runId, dimension, no]),
});

/** Bytes as PostgreSQL writes them in JSON. */
const withTexts = (row: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value]),
  );

type Key = readonly (string | number)[];

const sorted = <Row>(rows: readonly Row[], keyOf: (row: Row) => Key): Row[] =>
  rows.toSorted((a, b) => compareKeys(keyOf(a), keyOf(b)));

function compareKeys(a: Key, b: Key): number {
  const [place = -1] = a.flatMap((part, index) => (part === b[index] ? [] : [index]));
  return (a[place] ?? 0) < (b[place] ?? 0) ? -1 : 1;
}
