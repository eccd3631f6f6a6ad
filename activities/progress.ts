import type { Context } from '@temporalio/activity';
import { type ChunkProgress, progressSignal } from '../workflows/contract.ts';

/** Reports the progress of a chunk to its workflow, for the details that operators see. */
export interface ProgressReport extends Disposable {
  /** Sets what to report from now on; `read` is called for each report. */
  show(read: () => ChunkProgress): void;
}

/** The milliseconds between two reports. */
const reportMs = 5000;

/** Reports begin after the first 5 s: short chunks, which are most, cost Temporal nothing. */
export function reportProgress({ client, info }: Context): ProgressReport {
  let read: (() => ChunkProgress) | null = null;
  const { workflowId, runId } = info.workflowExecution ?? {};
  const report = () => {
    if (!read || !workflowId) return;
    // Nothing depends on a report; the next one replaces one that is lost.
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

/** A chunk that is rate limited, or whose totals are those of the last report, waits. */
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
