/** What the workflow of a firing and the log say of the run that it creates, or of why there is none. */
import type { RunRow } from '../src/core/resources/run.ts';
import type { Deps } from '../src/deps.ts';
import type { FiringOutcome, ScheduledTickInput } from '../workflows/contract.ts';

/** The outcome of a firing as its workflow has it; a text says why there is no run. */
export const outcomeOf = (created: Pick<RunRow, 'id'> | string): FiringOutcome =>
  typeof created === 'string'
    ? { outcome: `skipped: ${created}`, runId: null }
    : { outcome: 'started', runId: created.id };

/** What the log says when the run of a firing cannot be created. */
export const notCreated = ({ log }: Pick<Deps, 'log'>, input: ScheduledTickInput, scheduledFor: string) => ({
  write: log.error,
  message: 'scheduled run not created',
  fields: { ...input, scheduledFor },
});
