import type { Db } from '../db/client.ts';
import { insertRun } from '../db/queries/runs/runs.ts';
import { findPinnedSpec } from '../db/queries/specs.ts';
import type { OrgScope } from '../db/scope.ts';
import { AppError } from '../src/core/errors.ts';
import type { ConnectionRow } from '../src/core/resources/connection.ts';
import type { RunRow } from '../src/core/resources/run.ts';
import { type RunTerms, runTerms } from '../src/core/spec/connection/run-terms.ts';
import type { Deps } from '../src/deps.ts';
import type { Firing } from '../workflows/contract.ts';

/** A run that no caller requests. */
interface AutomaticRun {
  /** Locked in this transaction, and active. */
  readonly connection: ConnectionRow;
  readonly resourceKey: string;
  readonly trigger: 'schedule' | 'webhook';
  /** The firing of the run, for a schedule. */
  readonly firing?: Firing;
}

/** Creates a run under the effective spec of its connection; or returns the reason why it cannot, as text. */
export async function createRun(
  { defaultDestination }: Pick<Deps, 'defaultDestination'>,
  tx: Db,
  scope: OrgScope,
  { connection, resourceKey, trigger, firing }: AutomaticRun,
): Promise<RunRow | string> {
  const connectionId = connection.id;
  const specJson = (await findPinnedSpec(tx, scope, connectionId))?.specJson ?? {};
  const terms = termsOrIssue({ ...connection, specJson, resourceKey, defaultDestination, path: 'resourceKey' });
  if (typeof terms === 'string') return terms;
  const { concurrentMax, waitsFor } = terms;
  const run = { connectionId, resourceKey, concurrentMax, waitsFor, trigger, backfill: null, isDispatched: true };
  return insertRun(tx, scope, { ...run, ...firing });
}

function termsOrIssue(question: Parameters<typeof runTerms>[0]): RunTerms | string {
  try {
    return runTerms(question);
  } catch (error) {
    if (error instanceof AppError) return error.issues?.[0]?.message ?? error.message;
    throw error;
  }
}
