import type { Db } from '../../../db/client.ts';
import { takeLane } from '../../../db/queries/runs/attempts.ts';
import { beginRun } from '../../../db/queries/runs/lanes/begin-run.ts';
import { endRun } from '../../../db/queries/runs/lanes/end-run.ts';
import { insertRun } from '../../../db/queries/runs/runs.ts';
import { type OrgScope, orgScope } from '../../../db/scope.ts';
import { newRun, takeOptions } from '../service/receipts.ts';
import { insertTestConnection } from '../service/rows.ts';

/** Connections, runs and attempts as rows, without a service; `db` is called when they are made. */
export function laneRuns(db: () => Db) {
  async function connection() {
    const { orgId, connectionId } = await insertTestConnection(db());
    return { scope: orgScope(orgId), connectionId };
  }

  async function twoRuns() {
    const { scope, connectionId } = await connection();
    const insert = () => insertRun(db(), scope, newRun(connectionId, { concurrentMax: 4 }));
    const first = (await insert()).id;
    const second = (await insert()).id;
    const outcome = { status: 'succeeded', error: null } as const;
    return {
      scope,
      connectionId,
      first,
      second,
      begin: async (runId: string) => (await beginRun(db(), scope, runId)).turn,
      end: (runId: string) => endRun(db(), scope, { runId, outcome, breaksConnection: false }),
    };
  }

  async function attempt(scope: OrgScope, runId: string) {
    const taken = await takeLane(db(), scope, runId, takeOptions());
    if (!taken) throw new Error('No such run');
    return taken;
  }
  return { connection, twoRuns, attempt };
}
