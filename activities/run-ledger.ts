import type { Db } from '../db/client.ts';
import { unsettleLane } from '../db/queries/runs/attempts.ts';
import type { BatchOwner } from '../db/queries/runs/batch-owner.ts';
import { recordBatch, recordCarried } from '../db/queries/runs/batches.ts';
import { forgetLane } from '../db/queries/runs/forget-lane.ts';
import { prepareRecord } from '../db/queries/runs/settlement.ts';
import type { OrgScope } from '../db/scope.ts';
import type { RunLedger } from '../src/core/run/run-ledger.ts';

/** The ledger of a lane in the control database, as the attempt that holds the lane writes it. */
export function createRunLedger(
  db: Db,
  scope: OrgScope,
  { runId, laneId, fence }: BatchOwner & { readonly runId: string },
): RunLedger {
  const owner = { laneId, fence };
  return {
    prepare: prepareRecord,
    record: (receipt) => recordBatch(db, scope, { owner, receipt }),
    recordCarried: (receipt) => recordCarried(db, scope, { owner, receipt, runId }),
    unsettle: () => unsettleLane(db, scope, owner),
    forget: () => forgetLane(db, scope, { ...owner, runId }),
  };
}
