import { statsColumns, storedColumns } from '../../../../db/queries/runs/run-columns.ts';
import type { RunRow } from '../../../../src/core/resources/run.ts';
import type { StoredRun } from './control-state.ts';

/** A run as the API shows it, as `runColumns` of the real module selects it. */
export function runRow(run: StoredRun): RunRow {
  const { status, errorCode, errorMessage } = run;
  const showsError =
    errorCode !== null &&
    (['queued', 'running', 'failed'].includes(status) || (status === 'canceled' && errorCode === 'terminated'));
  return {
    ...pick(run, storedColumns),
    statsJson: pick(run, statsColumns),
    error: showsError ? { code: errorCode, message: errorMessage ?? '' } : null,
  };
}

const pick = <Column extends keyof StoredRun>(run: StoredRun, columns: readonly Column[]) =>
  Object.fromEntries(columns.map((name) => [name, run[name]])) as Pick<StoredRun, Column>;
