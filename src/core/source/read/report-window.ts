/** A window that is read from a report: its job is ready, and its parts have not changed. */
import type { ReadPosition } from '../../model/read-position.ts';
import type { Source } from '../source.ts';
import { type JobOptions, readyJob } from './report-job.ts';
import { partAt, type ReportParts } from './report-parts.ts';

export interface ReportWindow {
  readonly position: ReadPosition;
  readonly parts: ReportParts | null;
  readonly isEmpty: boolean;
  /** The parts are missing, so there may be records. */
  readonly isIncomplete: boolean;
}

/** Returns `null` if the parts have changed, so that the window begins again; throws what `readyJob` throws. */
export async function prepareWindow(
  source: Source,
  position: ReadPosition,
  options: JobOptions,
): Promise<ReportWindow | null> {
  const { job, parts, isEmpty, isIncomplete } = await readyJob(source, position, options);
  const before = position.job?.part;
  const part = parts && !isEmpty ? partAt(parts, before) : null;
  if (parts && before && !part) return null;
  return { position: { ...position, job: { ...job, ...(part && { part }) } }, parts, isEmpty, isIncomplete };
}
