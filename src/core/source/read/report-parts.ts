/** The parts of a report: read one after the other, and found again after a crash. */
import { createHash } from 'node:crypto';
import { AppError } from '../../errors.ts';
import type { JobPart, JobPosition } from '../../model/read-position.ts';
import { positionText } from './position-text.ts';

export interface ReportParts {
  readonly values: readonly (string | number)[];
  readonly hash: string;
}

const partsMax = 10_000;

/**
 * One value is a list of one, and `null` a missing result that the spec allows. Throws `source_rejected` for another
 * missing result, for anything but texts and numbers, and for too many.
 */
export function reportParts(
  given: unknown,
  recordsMissing: 'fail' | 'empty',
  masked: (text: string) => string = (text) => text,
): ReportParts | null {
  if (given === undefined || given === null) {
    if (recordsMissing === 'empty') return null;
    throw new AppError(
      'source_rejected',
      'The report is ready and job.parts gives nothing, not even an empty list. Correct job.parts in the spec, say with job.emptyWhen which reports have no records, or set response.recordsMissing to "empty".',
    );
  }
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (list.length > partsMax)
    throw new AppError('source_rejected', `The report has more than ${partsMax} parts. Use smaller windows.`);
  const values = list.map((value) => {
    if (typeof value === 'number') return value;
    if (typeof value === 'string') return positionText(value, 'A part of a report', 'job.parts');
    throw new AppError(
      'source_rejected',
      'job.parts gave something else than texts or numbers. Correct it in the spec.',
    );
  });
  return { values, hash: hashOf(values, masked) };
}

/** A signed address has a new signature at each poll, so its query does not count. */
function hashOf(values: readonly (string | number)[], masked: (text: string) => string): string {
  const names = values.map((value) => String(value).replace(/[?#].*$/s, ''));
  const content = new Set(names).size < names.length ? values : names;
  return createHash('sha256')
    .update(masked(JSON.stringify(content)))
    .digest('hex')
    .slice(0, 32);
}

/**
 * `before` with its value of the last poll, or the first part; `null` if the parts have changed, so that the window
 * begins again.
 */
export function partAt(parts: ReportParts, before: JobPart | undefined): JobPart | null {
  if (before !== undefined && before.parts !== parts.hash) return null;
  return numbered(parts, before?.no ?? 0);
}

/** `null` after the last part, or without parts. */
export function nextPart(job: JobPosition | undefined, parts: ReportParts | null): JobPosition | null {
  if (job?.part === undefined || parts === null) return null;
  const part = numbered(parts, job.part.no + 1);
  return part && { ...job, part };
}

function numbered({ values, hash }: ReportParts, no: number): JobPart | null {
  const value = values[no];
  return value === undefined ? null : { no, value, parts: hash };
}
