/**
 * Delivers the events of one endpoint while there are any, from the queue in the database. One workflow per endpoint keeps
 * its order, its limits and its health. A signal only triggers a check: the sweeper replaces a lost one, and a thousand
 * signals cause one check.
 */
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  patched,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { type DrainResult, renewSignal, type WebhookEndpointInput, wakeSignal, webhookQueue } from './contract.ts';
import { proxy } from './proxies.ts';

/** A drain ends by itself after 30 s plus the requests then in progress; the lease is on their rows, not on its attempt. */
const { drainEndpoint } = proxy({
  taskQueue: webhookQueue,
  startToCloseTimeout: '5m',
  heartbeatTimeout: '12s',
  retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s' },
});

/** Milliseconds that an idle workflow stays: an event in that time needs no new workflow. */
const idleMs = 60_000;

const wake = defineSignal(wakeSignal);
const renew = defineSignal(renewSignal);

export async function webhookEndpoint(input: WebhookEndpointInput): Promise<DrainResult> {
  const state = { woken: false, renewed: false };
  setHandler(wake, () => {
    state.woken = true;
  });
  setHandler(renew, () => {
    // Builds without this handler buffered the signal and waited on: their histories replay so.
    if (!patched('renew')) return;
    state.woken = true;
    state.renewed = true;
  });
  for (;;) {
    state.woken = false;
    const result = await drainEndpoint(input);
    setCurrentDetails(describe(input, result));
    if (workflowInfo().continueAsNewSuggested || state.renewed) {
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
