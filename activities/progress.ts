import type { Context } from '@temporalio/activity';
import { type ChunkProgress, progressSignal } from '../workflows/contract.ts';

export interface ProgressReport extends Disposable {
  show(read: () => ChunkProgress): void;
}

const reportMs = 5000;

/** Reports begin after the first 5 s: short chunks, which are most, cost Temporal nothing. */
export function reportProgress({ client, info }: Context): ProgressReport {
  let read: (() => ChunkProgress) | null = null;
  const { workflowId, runId } = info.workflowExecution ?? {};
  const report = () => {
    if (!read || !workflowId) return;
    // A lost report does no harm; the next one replaces it.
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

/** A chunk waits if it is rate limited, or its totals are those of the last report. */
export function progressOf(
  waiting: () => Exclude<ChunkProgress['waitsFor'], null>,
  read: () => Pick<ChunkProgress, 'pages' | 'records'>,
): () => ChunkProgress {
  let last = read().pages;
  return () => {
    const { pages, records } = read();
    const waitsFor = waiting();
    const isStill = last === pages;
    last = pages;
    return { pages, records, waitsFor: isStill || waitsFor === 'rate_limit' ? waitsFor : null };
  };
}
