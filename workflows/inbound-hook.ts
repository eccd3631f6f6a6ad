/**
 * Turns requests to the hooks of a connection and resource into runs, and ends when none waits. A signal only triggers a
 * check of the database, so a lost or repeated signal does no harm.
 */
import {
  condition,
  continueAsNew,
  defineSignal,
  patched,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { type InboundHookInput, type InboundStep, notedSignal } from './contract.ts';
import { control } from './proxies.ts';

const noted = defineSignal(notedSignal);
/** Histories without this patch slept to the end of each wait. */
const endedByRequest = 'a request ends the wait';

export async function inboundHook(
  input: InboundHookInput,
  last: InboundStep | null = null,
): Promise<InboundStep | null> {
  const state = { noted: false, last };
  setHandler(noted, () => {
    state.noted = true;
  });
  for (;;) {
    state.noted = false;
    const step = await control.enqueueInboundRun(input);
    if (step.waitMs === null && !state.noted) return state.last;
    if (step.waitMs === 0) {
      state.last = step;
      setCurrentDetails(step.runId === null ? step.outcome : `${step.outcome}: \`${step.runId}\``);
    } else if (step.waitMs !== null) {
      const timer = { summary: 'gathering requests' };
      // A request that waits for the retry of its run must not hold up later requests.
      if (patched(endedByRequest)) await condition(() => state.noted, step.waitMs, timer);
      else await sleep(step.waitMs, timer);
    }
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof inboundHook>(input, state.last);
  }
}
