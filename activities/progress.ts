import type { Context } from '@temporalio/activity';
import { type ChunkProgress, progressSignal } from '../workflows/contract.ts';

/** Tells the workflow of a chunk how far it is, for the details that operators see. */
export interface ProgressReport extends Disposable {
  /** What to tell from now on, asked each time. */
  show(read: () => ChunkProgress): void;
}

/** Between two reports, ms. */
const reportMs = 5000;

/** Reports begin after the first 5 s: short chunks, which are most, cost Temporal nothing. */
export function reportProgress({ client, info }: Context): ProgressReport {
  let read: (() => ChunkProgress) | null = null;
  const { workflowId, runId } = info.workflowExecution ?? {};
  const report = () => {
    if (!read || !workflowId) return;
    // Nothing depends on it; the next report says more than one that is lost.
    client.workflow
      .getHandle(workflowId, runId)
      .signal(progressSignal, read())
      .catch(() => undefined);
  };
  const timer = setInterval(report, reportMs);
  return {
    show(next) {
      read = next;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
