import type { BatchOwner } from '../../../../db/queries/runs/batches/batch-owner.ts';
import type * as real from '../../../../db/queries/runs/batches/batches.ts';
import { storableText } from '../../../../src/core/json/storable-text.ts';
import type { PageEntry, Receipt } from '../../../../src/core/model/receipt.ts';
import { sumOfNotes } from '../../../../src/core/model/run-notes.ts';
import type { Recorded } from '../../../../src/core/run/run-ledger.ts';
import { markRetriedIn } from '../records/requeue.ts';
import type { ControlState, StoredRun } from '../store/control-state.ts';
import { closeRows, keepQuarantine, tryAgain } from '../store/kept-back.ts';
import { putPartitions, putRecords } from '../store/lane-state.ts';
import { memoryOf } from '../store/memory-db.ts';
import { stored } from '../store/stored-json.ts';
import { putCoverage } from './batch-coverage.ts';
import { holdsLaneIn } from './batch-owner.ts';

/** As the query of the same name. */
export const recordBatch: typeof real.recordBatch = (db, _scope, { owner, receipt, applied }) =>
  memoryOf(db).transact('recordBatch', (state) => {
    const { recorded, run } = recordMain(state, owner, { receipt, applied });
    if (run) recordRest(state, { run, receipt, acknowledgedIn: receipt.runId });
    return recorded;
  });

/** As the query of the same name. */
export const recordCarried: typeof real.recordCarried = (db, _scope, { owner, receipt, runId }) =>
  memoryOf(db).transact('recordCarried', (state) => {
    const { recorded, run } = recordMain(state, owner, { receipt: { ...receipt, pages: [] }, applied: true });
    if (!run) return recorded;
    recordRest(state, { run, receipt, acknowledgedIn: runId });
    const current = state.runs.get(runId);
    if (current) {
      state.runs.update(current, {
        recordsOut: current.recordsOut + total(receipt, 'recordsOut'),
        quarantined: current.quarantined + total(receipt, 'quarantined'),
        deleted: current.deleted + total(receipt, 'deleted'),
      });
    }
    return recorded;
  });

/** As the query of the same name. */
export const passOver: typeof real.passOver = (db, _scope, { owner, runId, batchNo }) =>
  memoryOf(db).transact('passOver', (state) => {
    if (!holdsLaneIn(state, owner)) return 'fenced';
    const run = state.runs.get(runId);
    if (run?.laneId !== owner.laneId || run.batchNo >= batchNo) return 'recorded';
    state.runs.update(run, { batchNo });
    return 'passed';
  });

/** As the query of the same name. */
export const findBehindSince: typeof real.findBehindSince = (db, _scope, { laneId, runId, batchNo, onlyOf }) =>
  memoryOf(db).transact('findBehindSince', (state) => {
    const found = state.runs.get(runId);
    if (found?.laneId !== laneId) return null;
    const counted = (run: StoredRun) => run.laneId === laneId && run.appliedNo > 0 && (onlyOf ?? run.id) === run.id;
    const last = state.runs.where(counted).reduce<StoredRun | null>((a, b) => (a && a.seq > b.seq ? a : b), null);
    if (!last || last.seq < found.seq || (last.seq === found.seq && last.appliedNo <= batchNo)) return null;
    const hasAll = found.finishedAt !== null && found.appliedNo > 0 && found.appliedNo <= batchNo;
    return hasAll ? found.finishedAt : found.startedAt;
  });

interface RecordedMain {
  readonly recorded: Recorded;
  /** Null: the batch was not recorded. */
  readonly run: StoredRun | null;
}

/** What one statement does in PostgreSQL: run, ledger, fingerprints, partitions. `ledger` are the pages that get a row. */
export function recordMain(
  state: ControlState,
  owner: BatchOwner,
  { receipt, applied = true }: { readonly receipt: Receipt; readonly applied?: boolean | undefined },
  ledger = receipt.pages,
): RecordedMain {
  if (!holdsLaneIn(state, owner)) return { recorded: { outcome: 'fenced' }, run: null };
  const before = state.runs.get(receipt.runId);
  if (before?.laneId !== owner.laneId || before.batchNo !== receipt.batchNo - 1)
    return { recorded: { outcome: 'stale' }, run: null };
  const appliedNo = applied ? receipt.batchNo : before.appliedNo;
  const run = state.runs.update(before, { ...progressOf(before, receipt), appliedNo, progressedAt: state.now() });
  for (const page of ledger) putPage(state, run, page);
  putRecords(state, run, receipt);
  putPartitions(state, run, receipt.partitions);
  const stop = run.cancelRequestedAt !== null || run.status !== 'running';
  return { recorded: { outcome: 'recorded', stop }, run };
}

function progressOf(run: StoredRun, receipt: Receipt): Partial<StoredRun> {
  const { position, failure, partitions } = receipt;
  const [only] = partitions;
  return {
    batchNo: receipt.batchNo,
    pageNo: receipt.pages.at(-1)?.pageNo ?? run.pageNo,
    position: stored(position),
    readCompleted: position === null && failure === null,
    recordsIn: run.recordsIn + total(receipt, 'recordsIn'),
    recordsOut: run.recordsOut + total(receipt, 'recordsOut'),
    skipped: run.skipped + total(receipt, 'skipped'),
    quarantined: run.quarantined + total(receipt, 'quarantined'),
    deleted: run.deleted + total(receipt, 'deleted'),
    invalid: run.invalid + total(receipt, 'invalid'),
    incomplete: run.incomplete || receipt.incomplete,
    notes: sumOfNotes([run.notes, receipt.notes]),
    attempts: 0,
    ...(run.status === 'failed' ? {} : errorOf(failure)),
    ...(only?.partition === '' ? { watermarkAfter: only.watermark } : {}),
  };
}

const errorOf = (failure: string | null) =>
  failure === null
    ? { errorCode: null, errorMessage: null }
    : { errorCode: 'record_invalid', errorMessage: storableText(failure) };

const total = ({ pages }: Receipt, count: Exclude<keyof PageEntry, 'pageNo' | 'requestKey'>): number =>
  pages.reduce((sum, page) => sum + page[count], 0);

function putPage(state: ControlState, { id: runId, orgId, batchNo }: StoredRun, page: PageEntry): void {
  const { pageNo, requestKey, recordsIn, recordsOut, skipped, quarantined, invalid, deleted } = page;
  const counts = { recordsIn, recordsOut, skipped, quarantined, invalid, deleted };
  state.pages.insert({ orgId, runId, batchNo, pageNo, requestKey, ...counts, recordedAt: state.now() });
}

interface RestOfBatch {
  /** The run that read it. */
  readonly run: StoredRun;
  readonly receipt: Receipt;
  /** Id of the run in which the destination acknowledged it. */
  readonly acknowledgedIn: string;
}

/** The parts that few batches have, in the order of the real module. */
function recordRest(state: ControlState, { run, receipt, acknowledgedIn }: RestOfBatch): void {
  putCoverage(state, run, receipt);
  markRetriedIn(state, { ...run, runId: acknowledgedIn, ids: receipt.retried });
  keepQuarantine(state, run, { entries: receipt.quarantine, runId: acknowledgedIn });
  closeRows(state, run, receipt);
  tryAgain(state, run, { entries: receipt.again ?? [], runId: acknowledgedIn });
}
