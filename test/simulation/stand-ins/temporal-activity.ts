/** Stands in for `@temporalio/activity` in activities that are simulated. */
import { currentServer } from '../current.ts';
import { currentAttempt } from '../temporal-tasks.ts';

export { CancelledFailure } from '@temporalio/common';

/** What an activity knows of its attempt. */
export const Context = {
  current() {
    const given = currentAttempt();
    const { attempt, scheduledAt, task, stop } = given;
    return {
      info: {
        attempt,
        currentAttemptScheduledTimestampMs: scheduledAt,
        workflowExecution: { workflowId: task.execution.id, runId: '1' },
      },
      cancellationSignal: stop.signal,
      heartbeat: () => currentServer().heartbeat(given),
      // Reports of progress decide nothing.
      client: { workflow: { getHandle: () => ({ signal: async () => {} }) } },
    };
  },
};
