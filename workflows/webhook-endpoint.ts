/**
 * One endpoint's deliveries, as long as there are any. What is to be sent is in the database; this workflow is the one
 * that looks, and the timer that looks again. There is one per endpoint, so that its order, its limits and its health
 * have one keeper. A signal only says that looking is worth it: one that is lost is made up for by the sweeper, and a
 * thousand of them are one look.
 */
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { proxy } from './bookkeeping.ts';
import { type DrainResult, type WebhookEndpointInput, wakeSignal, webhookQueue } from './contract.ts';

/** A drain ends by itself after 30 s and the requests that are then under way; their rows are leased, not its attempt. */
const { drainEndpoint } = proxy({
  taskQueue: webhookQueue,
  startToCloseTimeout: '5m',
  heartbeatTimeout: '12s',
  retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s' },
});

/** With nothing to wait for, the workflow stays for this long: the next event then costs no new one. */
const idleMs = 60_000;

const wake = defineSignal(wakeSignal);

/** Sends the events of an endpoint until there are none; what it returns is what the last look came to. */
export async function webhookEndpoint(input: WebhookEndpointInput): Promise<DrainResult> {
  const state = { woken: false };
  setHandler(wake, () => {
    state.woken = true;
  });
  for (;;) {
    state.woken = false;
    const result = await drainEndpoint(input);
    setCurrentDetails(describe(input, result));
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      await continueAsNew<typeof webhookEndpoint>(input);
    }
    const { nextDueMs } = result;
    if (nextDueMs === 0) continue;
    const woken = await condition(() => state.woken, nextDueMs ?? idleMs);
    if (woken || nextDueMs !== null) continue;
    await condition(allHandlersFinished);
    if (!state.woken) return result;
  }
}

function describe({ endpointId }: WebhookEndpointInput, { state, nextDueMs, sent, failed }: DrainResult): string {
  const next = nextDueMs === null ? 'no event is waiting' : `next attempt in ${Math.ceil(nextDueMs / 1000)} s`;
  return `\`${endpointId}\` is **${state}**: ${sent} sent, ${failed} of them failed; ${next}.`;
}
