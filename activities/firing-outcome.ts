import type { RunRow } from '../src/core/resources/run.ts';
import type { Deps } from '../src/deps.ts';
import type { FiringOutcome, ScheduledTickInput } from '../workflows/contract.ts';

export const outcomeOf = (created: Pick<RunRow, 'id'> | string): FiringOutcome =>
  typeof created === 'string'
    ? { outcome: `skipped: ${created}`, runId: null }
    : { outcome: 'started', runId: created.id };

export const notCreated = ({ log }: Pick<Deps, 'log'>, input: ScheduledTickInput, scheduledFor: string) => ({
  write: log.error,
  message: 'scheduled run not created',
  fields: { ...input, scheduledFor },
});
