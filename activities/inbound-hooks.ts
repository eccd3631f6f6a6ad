import type { Db } from '../db/client.ts';
import { lockConnection } from '../db/queries/connections/connections.ts';
import { dropTriggers, dueInMs, joinRun } from '../db/queries/hooks/hook-requests.ts';
import { findWaitingRun, insertRun } from '../db/queries/runs/runs.ts';
import { findPinnedSpec } from '../db/queries/specs.ts';
import { type OrgScope, orgScope } from '../db/scope.ts';
import type { RunRow } from '../src/core/resources/run.ts';
import type { Deps } from '../src/deps.ts';
import { startQueuedRun } from '../src/dispatch/start-run.ts';
import type { InboundHookInput, InboundStep } from '../workflows/contract.ts';
import { automaticTerms } from './automatic-terms.ts';
import { withFailures } from './failures.ts';

type InboundDeps = Pick<Deps, 'db' | 'orchestrator' | 'log' | 'defaultDestination'>;

interface CreatedOrJoined {
  readonly step: InboundStep;
  readonly created: RunRow | null;
}

export function createInboundHookActivities(deps: InboundDeps) {
  return {
    /**
     * Creates the run that requests wait for when it is due, or adds them to one that has not begun. Safe to run twice: run
     * and requests are one transaction, so a repeat finds no request waiting (test/integration/inbound-steps.test.ts). The
     * sweeper starts a run whose start was lost.
     */
    async enqueueInboundRun(input: InboundHookInput): Promise<InboundStep> {
      const scope = orgScope(input.orgId);
      const report = { write: deps.log.error, message: 'run for hook requests not created', fields: { ...input } };
      return await withFailures(report, async () => {
        const { step, created } = await deps.db.transaction().execute((tx) => createOrJoin(deps, tx, scope, input));
        if (created) await startQueuedRun(deps, scope, created);
        if (step.waitMs === 0) deps.log.info('hook requests processed', { ...input, ...step });
        return step;
      });
    },
  };
}

async function createOrJoin(
  { defaultDestination }: Pick<InboundDeps, 'defaultDestination'>,
  tx: Db,
  scope: OrgScope,
  input: InboundHookInput,
): Promise<CreatedOrJoined> {
  const { connectionId, resourceKey } = input;
  // No run of the connection begins while the lock is held: a waiting run starts after every request seen here.
  const connection = await lockConnection(tx, scope, connectionId);
  const due = await dueInMs(tx, scope, input);
  if (due === null) return { step: { waitMs: null, outcome: 'no request is waiting', runId: null }, created: null };
  const skipped = async (reason: string): Promise<CreatedOrJoined> => {
    await dropTriggers(tx, scope, input, reason);
    return { step: { waitMs: 0, outcome: `ignored: ${reason}`, runId: null }, created: null };
  };
  if (connection?.status !== 'active') return skipped(`connection ${connection?.status ?? 'deleted'}`);
  const waiting = await findWaitingRun(tx, scope, input);
  if (waiting) {
    await joinRun(tx, scope, input, { runId: waiting.id, isNew: false });
    return { step: { waitMs: 0, outcome: 'joined', runId: waiting.id }, created: null };
  }
  if (due > 0) return { step: { waitMs: due, outcome: 'gathering', runId: null }, created: null };
  const specJson = (await findPinnedSpec(tx, scope, connectionId))?.specJson ?? {};
  const terms = automaticTerms({ ...connection, specJson, resourceKey, defaultDestination });
  if (typeof terms === 'string') return skipped(terms);
  const { concurrentMax, waitsFor } = terms;
  const run = { connectionId, resourceKey, trigger: 'webhook', concurrentMax, waitsFor, backfill: null } as const;
  const created = await insertRun(tx, scope, run);
  await joinRun(tx, scope, input, { runId: created.id, isNew: true });
  return { step: { waitMs: 0, outcome: 'started', runId: created.id }, created };
}
