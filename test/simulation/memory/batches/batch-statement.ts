import type * as real from '../../../../db/queries/runs/batches/batch-statement.ts';

/** Nothing is made ahead. */
export const prepareRecord: typeof real.prepareRecord = () => undefined;
