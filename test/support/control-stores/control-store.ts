/** The two stores that pass the same contract: the real queries on PostgreSQL, and those of the simulation in memory. */
import type { Db } from '../../../db/client.ts';
import { findConnection } from '../../../db/queries/connections/connections.ts';
import * as attempts from '../../../db/queries/runs/attempts.ts';
import * as batches from '../../../db/queries/runs/batches/batches.ts';
import * as outbox from '../../../db/queries/runs/batches/outbox.ts';
import * as calls from '../../../db/queries/runs/calls.ts';
import { requestCancel } from '../../../db/queries/runs/cancel.ts';
import * as dispatch from '../../../db/queries/runs/dispatch.ts';
import { beginRun } from '../../../db/queries/runs/lanes/begin-run.ts';
import { conformLane } from '../../../db/queries/runs/lanes/conform-lane.ts';
import { endRun } from '../../../db/queries/runs/lanes/end-run.ts';
import { forgetLane } from '../../../db/queries/runs/lanes/forget-lane.ts';
import { noteLeftovers, noteRestored } from '../../../db/queries/runs/lanes/leftovers.ts';
import { addWrittenColumns, findWrittenColumns } from '../../../db/queries/runs/lanes/written-columns.ts';
import * as lookups from '../../../db/queries/runs/lookup-cache.ts';
import * as sweep from '../../../db/queries/runs/maintenance/sweep.ts';
import * as listed from '../../../db/queries/runs/records/listed-deletions.ts';
import * as missing from '../../../db/queries/runs/records/missing-records.ts';
import { isLaneComplete } from '../../../db/queries/runs/records/parents.ts';
import { findRecordStates } from '../../../db/queries/runs/records/record-state.ts';
import * as requeue from '../../../db/queries/runs/records/requeue.ts';
import * as dimensions from '../../../db/queries/runs/run-dimensions.ts';
import * as runs from '../../../db/queries/runs/runs.ts';
import { findPinnedSpec } from '../../../db/queries/specs.ts';
import type { OrgScope } from '../../../db/scope.ts';
import type { SpecUpgrade } from '../../../src/core/resources/spec.ts';
import type { Rows } from './observed.ts';

/** The queries that both stores have, as the real modules export them. */
export const realQueries = {
  findConnection,
  findPinnedSpec,
  takeLane: attempts.takeLane,
  resetAttempts: attempts.resetAttempts,
  noteFailure: attempts.noteFailure,
  recordBatch: batches.recordBatch,
  recordCarried: batches.recordCarried,
  passOver: batches.passOver,
  findBehindSince: batches.findBehindSince,
  conformLane,
  forgetLane,
  addWrittenColumns,
  findWrittenColumns,
  insertCalls: calls.insertCalls,
  lastCallSequence: calls.lastCallSequence,
  beginRun,
  endRun,
  findLookupValues: lookups.findLookupValues,
  putLookupValues: lookups.putLookupValues,
  dropLookupValues: lookups.dropLookupValues,
  findListed: listed.findListed,
  countListed: listed.countListed,
  findDue: listed.findDue,
  countMissing: missing.countMissing,
  findMissing: missing.findMissing,
  hidesMissing: missing.hidesMissing,
  countKnown: missing.countKnown,
  startsOver: missing.startsOver,
  readSoFar: runs.readSoFar,
  countReplaced: runs.countReplaced,
  findDeleted: missing.findDeleted,
  openOutbox: outbox.openOutbox,
  putPending: outbox.putPending,
  advancePending: outbox.advancePending,
  countFailure: outbox.countFailure,
  doubtPart: outbox.doubtPart,
  endPending: outbox.endPending,
  findRecordStates,
  isLaneComplete,
  noteLeftovers,
  noteRestored,
  requeueOne: requeue.requeueOne,
  requeueAll: requeue.requeueAll,
  findRequeued: requeue.findRequeued,
  clearDimension: dimensions.clearDimension,
  addToDimension: dimensions.addToDimension,
  countDimensions: dimensions.countDimensions,
  findDimensionValue: dimensions.findDimensionValue,
  findCombinations: dimensions.findCombinations,
  findPartition: dimensions.findPartition,
  insertRun: runs.insertRun,
  findRun: runs.findRun,
  findRuns: runs.findRuns,
  findWaitingRun: runs.findWaitingRun,
  markDispatched: dispatch.markDispatched,
  leaveToSweeper: dispatch.leaveToSweeper,
  requestCancel,
  countLoginFailures: runs.countLoginFailures,
  markAlive: dispatch.markAlive,
  countRestart: dispatch.countRestart,
  isClean: runs.isClean,
  findUndispatchedRuns: sweep.findUndispatchedRuns,
  findSilentRuns: sweep.findSilentRuns,
};

/** See {@link realQueries}. */
export type Queries = typeof realQueries;

/** An org with one active connection, pinned to version 1.0.0 of a spec that also has 2.0.0. */
export interface StoreOrg {
  readonly db: Db;
  readonly scope: OrgScope;
  readonly connectionId: string;
  readonly queries: Queries;
  /** What the API does to a connection. */
  pause(): Promise<unknown>;
  activate(): Promise<unknown>;
  upgrade(version: string, plan: SpecUpgrade['plan']): Promise<unknown>;
  /** So much time passes for runs and for kept lookup values, ms. */
  passes(ms: number): Promise<void>;
  /** Every row of the connection. */
  rows(): Promise<Rows>;
}

/** A kind of control store. */
export interface ControlStore extends AsyncDisposable {
  openOrg(): Promise<StoreOrg>;
}
