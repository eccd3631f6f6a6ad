import { AppError } from '../errors.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';

/** The number of records a run has read, and how many were invalid. */
export interface InvalidCount {
  readonly recordsIn: number;
  readonly invalid: number;
}

/** A page about to be delivered; without a position after it, it is the last of the run. */
type InterpretedPage = InvalidCount & { readonly positionAfter: unknown };

/** A smaller number says nothing about the whole, unless it is the whole. */
const checkedFrom = 100;

/**
 * The limit `validate.maxInvalidRatio`, called with all pages of a run in order; `start` is what earlier attempts
 * recorded. It counts page by page, so the result does not depend on the batches.
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
