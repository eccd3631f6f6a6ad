import type * as real from '../../../db/queries/runs/settlement.ts';

/** Nothing is made ahead. */
export const prepareRecord: typeof real.prepareRecord = () => undefined;
