import type { RunWait } from '../../control/runs/waits.ts';
import { type Content, html } from '../parts/html.ts';
import { counted } from '../parts/numbers.ts';
import { ago } from '../parts/time.ts';

/** What a run waits for, in words; null: it is not known. */
export const waitWords = (wait: RunWait | undefined): Content => {
  if (!wait) return null;
  return wait.status === 'queued' ? queuedWords(wait) : watchWords(wait);
};

function queuedWords(wait: RunWait): Content {
  const { before, runsBefore, ofConnection, concurrentMax, ofOrg, runsAtOnce } = wait;
  if (before !== null) {
    const others = runsBefore > 1 ? ` and ${counted(runsBefore - 1, 'other')}` : '';
    return html`Waits for <a href="/console/runs/${before.id}">a run of ${before.resourceKey}</a>${others} to end.`;
  }
  if (ofConnection >= concurrentMax)
    return `Waits for another run of the connection to end: its API allows ${counted(concurrentMax, 'run')} at once.`;
  if (ofOrg >= runsAtOnce)
    return `Waits for another run to end: ${counted(runsAtOnce, 'run')} of the org may run at once.`;
  if (!wait.isDispatched) return 'Temporal has not taken it yet; it is offered again every few seconds.';
  return watchWords(wait) ?? 'Begins in a moment.';
}

function watchWords({ watch, status }: RunWait): Content {
  if (watch === null) return null;
  const { activity, isPaused } = watch;
  if (activity === null) return isPaused ? 'Pauses until its API, a report or its destination lets it go on.' : null;
  if (activity.nextTryAt !== null && activity.attempt > 1)
    return html`Attempt ${activity.attempt - 1} failed; the next one begins ${ago(activity.nextTryAt)}.`;
  if (!activity.isStarted) return 'Waits for a free slot of a worker.';
  if (status === 'queued') return null;
  return activity.attempt > 1 ? `Attempt ${activity.attempt} works with the API.` : 'Works with the API.';
}
