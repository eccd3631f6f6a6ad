import type * as real from '../../../../db/queries/runs/batches/settlement.ts';

/** Nothing is made ahead. */
export const prepareRecord: typeof real.prepareRecord = () => undefined;
