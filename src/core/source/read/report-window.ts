/** A window that is read from a report: its job is ready, and its parts are those that were counted before. */
import type { ReadPosition } from '../../model/read-position.ts';
import type { Source } from '../source.ts';
import { type JobOptions, readyJob } from './report-job.ts';
import { partAt, type ReportParts } from './report-parts.ts';

/** A window that may be read. */
export interface ReportWindow {
  /** The position, with what the job is now and the part to read. */
  readonly position: ReadPosition;
  /** The parts of its report; null: it has none in parts. */
  readonly parts: ReportParts | null;
  /** Whether the report has no records. */
  readonly isEmpty: boolean;
  /** Whether its parts are missing, so that it may have records. */
  readonly isIncomplete: boolean;
}

/**
 * Waits for the job of the position's window, and finds the part to read. Null: the parts are others than those that
 * were counted, so the window begins again. Throws what `readyJob` throws.
 */
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
