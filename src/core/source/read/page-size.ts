import { AppError } from '../../errors.ts';

/** Decoded size above which later pages wait: as records, a body takes many times its size in memory. */
export const heavyBytes = 4_000_000;

/** At some 20 µs each in the stages that every record passes, a page stays within seconds. */
export const pageRecordsMax = 100_000;

export const tooManyRecords = (): AppError =>
  new AppError(
    'source_rejected',
    `A page has more than ${pageRecordsMax} records. ` +
      'Ask for smaller pages (pagination.size, or a limit in request.query) or for a narrower window.',
  );
