/** Shared by all workflows of runs. */
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  defineQuery,
  defineSignal,
  isCancellation,
  makeContinueAsNewFunc,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertSearchAttributes,
  type Workflow,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import {
  type ChunkProgress,
  type ChunkResult,
  type FirstStep,
  laneFreeSignal,
  progressQuery,
  progressSignal,
  type RunTotals,
  type Stage,
  type SyncRunInput,
  searchAttributes,
  syncQueue,
} from './contract.ts';
import { control, proxy } from './proxies.ts';
import { beginOf, describe, endOf, nextOf, summaryOf, waitOf, waitsForLane } from './run-details.ts';

/**
 * A chunk stops itself after 60 s; 15 min leave room for the retries of one slow page. Attempts are limited by the budget in
 * the database: 12 without progress, which take 117 s with their delays.
 */
const { syncPages } = proxy({
  taskQueue: syncQueue,
  startToCloseTimeout: '15m',
  heartbeatTimeout: '5s',
  retry: { initialInterval: '250ms', backoffCoefficient: 1.65, maximumInterval: '30s' },
});

const laneFree = defineSignal(laneFreeSignal);
const chunkProgress = defineSignal<[ChunkProgress]>(progressSignal);
const progress = defineQuery<ChunkResult>(progressQuery);
const stageKey = defineSearchAttributeKey(searchAttributes.stage, SearchAttributeType.KEYWORD);
const runIdKey = defineSearchAttributeKey(searchAttributes.runId, SearchAttributeType.KEYWORD);

export interface RunState {
  woken: boolean;
  stage: Stage;
  last: ChunkResult;
}

/** `last` is what the run had read when its history was restarted. */
export function openState(stage: Stage, last: ChunkResult): RunState {
  const state: RunState = { woken: false, stage, last };
  setHandler(laneFree, () => {
    state.woken = true;
  });
  setHandler(progress, () => state.last);
  return state;
}

/**
 * A run with little or nothing new ends in this step, at half the cost of an activity on a queue. Returns `null` if it
 * failed; the activity then does all the work.
 */
export async function tryFirst(step: (scheduledAtMs: number) => Promise<FirstStep>): Promise<FirstStep | null> {
  try {
    return await step(Date.now());
  } catch {
    // The error may be a cancel; the next step notices it.
    return null;
  }
}

interface GoingOn {
  /** `null` if the first step was skipped or failed. */
  readonly first: FirstStep | null;
  readonly restart: (last: ChunkResult) => Promise<never>;
}

/** Continues on the current build of the workers: a run that waits for days would otherwise keep its first build alive. */
export const restartHistory = <F extends Workflow>(...args: Parameters<F>): Promise<never> =>
  makeContinueAsNewFunc<F>({ initialVersioningBehavior: 'AUTO_UPGRADE' })(...args);

/** The result is in the run row; the workflow fails when the run failed, so that operators see it. */
export async function runToEnd(input: SyncRunInput, state: RunState, goingOn: GoingOn): Promise<RunTotals> {
  setHandler(chunkProgress, (now) => setCurrentDetails(describe(input, now, nextOf(now))));
  try {
    await readToEnd(input, state, goingOn);
    if (!state.last.totals) {
      enter(state, 'finishing');
      return await control.endRun(input, { status: state.last.limited ? 'partial' : 'succeeded', error: null });
    }
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await CancellationScope.nonCancellable(() => control.endRun(input, outcomeOf(error)));
    throw error;
  }
  const { totals } = state.last;
  // Shows the workflow as canceled to operators, not as completed.
  if (totals.status === 'canceled' && CancellationScope.current().consideredCancelled) {
    throw new CancelledFailure('The run was canceled.');
  }
  return totals;
}

async function readToEnd(input: SyncRunInput, state: RunState, { first, restart }: GoingOn): Promise<void> {
  // The only failure made outside of activities/failures.ts, whose head says why.
  if (first?.error) throw ApplicationFailure.nonRetryable(first.error.message, first.error.code);
  for (let read = first?.chunk ?? null; ; read = null) {
    state.last = read ?? (await nextChunk(input, state));
    if (state.last.waiting) {
      await waitForTurn(state);
    } else {
      setCurrentDetails(describe(input, state.last, endOf(state.last)));
      if (state.last.done) return;
    }
    if (state.last.waitMs > 0) {
      enter(state, 'throttled');
      await sleep(state.last.waitMs, { summary: waitOf(state.last) });
    }
    if (workflowInfo().continueAsNewSuggested) await restart(state.last);
  }
}

function nextChunk(input: SyncRunInput, state: RunState): Promise<ChunkResult> {
  enter(state, 'running');
  setCurrentDetails(describe(input, state.last, beginOf(state.last)));
  return syncPages.executeWithOptions({ summary: summaryOf(input, state.last) }, [input]);
}

/** The run that ends signals the next one; the timer covers a lost signal. */
async function waitForTurn(state: RunState): Promise<void> {
  enter(state, 'waiting');
  setCurrentDetails(waitsForLane);
  await condition(() => state.woken, '30s');
  state.woken = false;
}

/**
 * Changes a search attribute only if the run was started with some: an unregistered name blocks the workflow task for ever.
 */
function enter(state: RunState, stage: Stage): void {
  if (state.stage === stage) return;
  state.stage = stage;
  if (!workflowInfo().typedSearchAttributes.get(stageKey)) return;
  upsertSearchAttributes([{ key: stageKey, value: stage }]);
}

/** Sets the search attribute, since a scheduled run has no id when its workflow starts. */
export function showRunId(runId: string): void {
  if (!workflowInfo().typedSearchAttributes.get(stageKey)) return;
  upsertSearchAttributes([{ key: runIdKey, value: runId }]);
}

function outcomeOf(error: unknown): Parameters<Activities['endRun']>[1] {
  if (isCancellation(error)) return { status: 'canceled', error: null };
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) {
    return { status: 'failed', error: { code: cause.type ?? 'internal', message: cause.message } };
  }
  return {
    status: 'failed',
    error: { code: 'internal', message: 'The run ended unexpectedly; see the log of the worker.' },
  };
}
