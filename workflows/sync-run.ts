/**
 * One run, from the queue of its lane to its final status.
 *
 * What survives a crash: everything that matters is in PostgreSQL before this workflow is notified of it. The run row
 * is the outbox (a run whose start was lost is started by the sweeper); the ledger holds each complete page; the
 * destination's checkpoint row holds the receipt of the last batch. This history holds ids and totals only, and it may
 * be lost whole: the reconciler then starts it again, and it continues from the ledger.
 *
 * Where a record can be seen twice: nowhere at an SQL destination, because rows and receipt are one transaction and
 * a newer attempt fences the older one off. A page in flight at a kill is fetched again, never delivered again. At a
 * webhook, what was in flight at a kill, one request or the destination's `parallelism`: posted again as it was, under
 * the same id.
 */
import { type ActivityOptions, defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { control, proxy, waitForCancellation } from './bookkeeping.ts';
import {
  type ChunkProgress,
  type ChunkResult,
  laneFreeSignal,
  progressQuery,
  progressSignal,
  type RunTotals,
  type Stage,
  type SyncRunInput,
  searchAttributes,
  syncQueue,
} from './contract.ts';

/**
 * A chunk stops itself after 60 s; 15 min leave room for the retries of one slow page. Attempts are not limited
 * here: the budget that counts attempts without progress is in the database, and its 12 are spread over 90 s.
 */
const chunkOptions: ActivityOptions = {
  taskQueue: syncQueue,
  startToCloseTimeout: '15m',
  heartbeatTimeout: '5s',
  retry: { initialInterval: '250ms', backoffCoefficient: 1.65, maximumInterval: '30s' },
};

const nothingRead: ChunkResult = { done: false, limited: false, waitMs: 0, pages: 0, records: 0 };
const laneFree = defineSignal(laneFreeSignal);
const chunkProgress = defineSignal<[ChunkProgress]>(progressSignal);
const progress = defineQuery<ChunkResult>(progressQuery);
const stageKey = defineSearchAttributeKey(searchAttributes.stage, SearchAttributeType.KEYWORD);

/**
 * Executes a run. Its result is in the run row; the workflow fails when the run failed, so that operators see it.
 * `last` is what this run had read when its history was restarted.
 */
export async function syncRun(input: SyncRunInput, last: ChunkResult = nothingRead): Promise<RunTotals> {
  const state: RunState = { woken: false, stage: 'waiting', last };
  setHandler(laneFree, () => {
    state.woken = true;
  });
  setHandler(progress, () => state.last);
  setHandler(chunkProgress, (now) => setCurrentDetails(describe(input, now, nextOf(now))));
  try {
    await readToEnd(input, state);
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
  // Canceled, not completed, in the eyes of operators too.
  if (totals.status === 'canceled' && CancellationScope.current().consideredCancelled) {
    throw new CancelledFailure('The run was canceled.');
  }
  return totals;
}

interface RunState {
  woken: boolean;
  stage: Stage;
  last: ChunkResult;
}

async function readToEnd(input: SyncRunInput, state: RunState): Promise<void> {
  const { syncPages } = proxy(chunkOptions);
  for (;;) {
    enter(state, 'running');
    const begins = state.last.pages === 0 ? 'opens the destination and requests the first page' : 'reads the next page';
    setCurrentDetails(describe(input, state.last, begins));
    const summary = `${input.resourceKey}: from page ${state.last.pages + 1}`;
    state.last = await syncPages.executeWithOptions({ ...chunkOptions, ...waitForCancellation, summary }, [input]);
    if (state.last.waiting) {
      await waitForTurn(state);
    } else {
      setCurrentDetails(describe(input, state.last, endOf(state.last)));
      if (state.last.done) return;
    }
    if (state.last.waitMs > 0) {
      enter(state, 'throttled');
      await sleep(state.last.waitMs, { summary: 'rate limited; waiting to retry' });
    }
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof syncRun>(input, state.last);
  }
}

/** The run that ends signals the next; the timer covers a signal that was lost. */
async function waitForTurn(state: RunState): Promise<void> {
  enter(state, 'waiting');
  setCurrentDetails('Waiting for an earlier run of this resource.');
  await condition(() => state.woken, '30s');
  state.woken = false;
}

/** Only a run that was started with search attributes may change one: an unregistered name wedges the workflow. */
function enter(state: RunState, stage: Stage): void {
  if (state.stage === stage) return;
  state.stage = stage;
  if (!workflowInfo().typedSearchAttributes.get(stageKey)) return;
  upsertSearchAttributes([{ key: stageKey, value: stage }]);
}

interface Totals {
  readonly pages: number;
  readonly records: number;
}

const describe = (input: SyncRunInput, { pages, records }: Totals, now: string): string =>
  `**${input.resourceKey}** of \`${input.connectionId}\`: ${pages} pages, ${records} records; ${now}.`;

const nextOf = ({ waitsFor, pages }: ChunkProgress): string => {
  if (waitsFor === 'source') return `waits for page ${pages + 1} of the API`;
  if (waitsFor === 'rate_limit') return `rate limited; requests page ${pages + 1} in some seconds`;
  return waitsFor === 'destination' ? 'waits for the destination to accept a batch' : 'reads the next page';
};

const endOf = ({ done, waitMs }: ChunkResult): string => {
  if (done) return 'read completely';
  return waitMs > 0 ? `rate limited; retrying in ${Math.ceil(waitMs / 1000)} s` : 'reads the next page';
};

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
