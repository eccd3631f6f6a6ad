import { AppError } from '../errors.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';

/** What a run has read, and how much of it was invalid. */
export interface InvalidCount {
  readonly recordsIn: number;
  readonly invalid: number;
}

/** A page about to be delivered; without a position after it, it is the last of the run. */
type InterpretedPage = InvalidCount & { readonly positionAfter: unknown };

/** Fewer records say nothing of the whole, unless they are the whole. */
const checkedFrom = 100;

/**
 * The brake of `validate.maxInvalidRatio`, told of all pages of a run in order; `start` is what earlier attempts have
 * recorded. Page by page, so that it does not matter how they were put into batches.
 */
export function createInvalidBrake(
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
