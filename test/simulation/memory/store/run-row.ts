import type { RunRow } from '../../../../src/core/resources/run.ts';
import type { StoredRun } from './control-state.ts';

/** A run as the API shows it, as `runColumns` of the real module selects it. */
export function runRow(run: StoredRun): RunRow {
  const { id, connectionId, resourceKey, trigger, status, startedAt, finishedAt, watermarkBefore, watermarkAfter } =
    run;
  const { recordsIn, recordsOut, skipped, deleted, quarantined, errorCode, errorMessage } = run;
  const showsError = errorCode !== null && ['queued', 'running', 'failed'].includes(status);
  return {
    ...{ id, connectionId, resourceKey, trigger, status, startedAt, finishedAt, watermarkBefore, watermarkAfter },
    statsJson: { recordsIn, recordsOut, skipped, deleted, quarantined },
    error: showsError ? { code: errorCode, message: errorMessage ?? '' } : null,
  };
}
