import type { Db } from '../db/client.ts';
import { clearRecordedWith } from '../db/queries/runs/attempts.ts';
import type { BatchOwner } from '../db/queries/runs/batches/batch-owner.ts';
import { prepareRecord } from '../db/queries/runs/batches/batch-statement.ts';
import { findBehindSince, passOver, recordBatch, recordCarried } from '../db/queries/runs/batches/batches.ts';
import { forgetLane } from '../db/queries/runs/lanes/forget-lane.ts';
import { noteCompared, noteLeftovers, noteRestored } from '../db/queries/runs/lanes/leftovers.ts';
import { addWrittenColumns, findWrittenColumns } from '../db/queries/runs/lanes/written-columns.ts';
import type { OrgScope } from '../db/scope.ts';
import { takenOver } from '../src/core/errors.ts';
import type { PageEntry, Receipt } from '../src/core/model/receipt.ts';
import { observations } from '../src/core/observations.ts';
import type { Recorded, RunLedger } from '../src/core/run/run-ledger.ts';

export interface AttemptLedger extends RunLedger {
  /** The receipt that was left to the end of the run, or `null`. */
  readonly leftToEnd: Receipt | null;
}

/** For `place`, see PreparedDestination. */
export function createRunLedger(
  db: Db,
  scope: OrgScope,
  { runId, laneId, fence, place }: BatchOwner & { readonly runId: string; readonly place: string },
): AttemptLedger {
  const owner = { laneId, fence };
  let leftToEnd: Receipt | null = null;
  return {
    get leftToEnd() {
      return leftToEnd;
    },
    leaveToEnd(receipt) {
      leftToEnd = receipt;
    },
    written: {
      find: () => findWrittenColumns(db, scope, { laneId, target: place }),
      async add(names) {
        if (!(await addWrittenColumns(db, scope, { owner, target: place, names }))) throw takenOver();
      },
    },
    prepare: prepareRecord,
    record: async (receipt, applied) =>
      published(await recordBatch(db, scope, { owner, receipt, applied }), countsOf(receipt)),
    recordCarried: async (receipt) =>
      published(await recordCarried(db, scope, { owner, receipt, runId }), {
        ...countsOf(receipt),
        // Neither run counts them as read.
        recordsIn: 0,
        skipped: 0,
      }),
    passOver: (batchNo) => passOver(db, scope, { owner, runId, batchNo }),
    behindSince: (last, onlyOwn) => findBehindSince(db, scope, { ...last, laneId, onlyOf: onlyOwn ? runId : null }),
    noteLeftovers: (externalIds) => noteLeftovers(db, scope, { owner, externalIds }),
    noteCompared: () => noteCompared(db, scope, owner),
    noteRestored: () => noteRestored(db, scope, owner),
    clearRecordedWith: () => clearRecordedWith(db, scope, owner),
    forget: () => forgetLane(db, scope, { ...owner, runId }),
  };
}

type Counts = Pick<PageEntry, 'recordsIn' | 'recordsOut' | 'skipped' | 'quarantined' | 'deleted'>;

export const countsOf = ({ pages }: Receipt): Counts => ({
  recordsIn: sumOf(pages, 'recordsIn'),
  recordsOut: sumOf(pages, 'recordsOut'),
  skipped: sumOf(pages, 'skipped'),
  quarantined: sumOf(pages, 'quarantined'),
  deleted: sumOf(pages, 'deleted'),
});

const sumOf = (pages: Receipt['pages'], name: keyof Counts): number => pages.reduce((sum, page) => sum + page[name], 0);

/** Publishes after the commit, and only a batch that this call recorded: a repeat publishes nothing. */
function published(recorded: Recorded, counts: Counts): Recorded {
  if (recorded.outcome === 'recorded') observations.batchRecorded.publish(counts);
  return recorded;
}
