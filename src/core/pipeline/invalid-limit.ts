import { AppError } from '../errors.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';

/** Counts of records read by a run, and of invalid ones among them. */
export interface InvalidCount {
  readonly recordsIn: number;
  readonly invalid: number;
}

type InterpretedPage = InvalidCount & { readonly positionAfter: unknown };

/** A smaller number proves nothing about the run, unless it is the whole run. */
const checkedFrom = 100;

/**
 * The limit `validate.maxInvalidRatio`, called with all pages of a run in order, after the counts in `start`. It counts
 * page by page, so the result does not depend on the batches.
 */
export function createInvalidLimit(
  { key, validate }: Pick<Resource, 'key' | 'validate'>,
  start: InvalidCount,
): (pages: readonly InterpretedPage[]) => void {
  let { recordsIn, invalid } = start;
  const ratioMax = validate?.maxInvalidRatio ?? 1;
  return (pages) => {
    for (const page of pages) {
      recordsIn += page.recordsIn;
      invalid += page.invalid;
      const isChecked = recordsIn >= checkedFrom || page.positionAfter === null;
      if (isChecked && invalid > ratioMax * recordsIn) throw tooManyInvalid(key, { recordsIn, invalid }, ratioMax);
    }
  };
}

function tooManyInvalid(key: string, { recordsIn, invalid }: InvalidCount, ratioMax: number): AppError {
  const message = `${invalid} of ${recordsIn} records of ${key} are invalid, more than validate.maxInvalidRatio (${ratioMax}) allows.`;
  const advice = 'Check the quarantined records, then correct the spec or raise the ratio.';
  return new AppError('record_invalid', `${message} ${advice}`);
}
