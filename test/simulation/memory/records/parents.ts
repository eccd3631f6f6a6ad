import type * as real from '../../../../db/queries/runs/records/parents.ts';

/** No simulated resource is read once per record of another one. */
export const parentsInstant: typeof real.parentsInstant = () => Promise.reject(new Error('not simulated'));

/** As {@link parentsInstant}. */
export const findParents: typeof real.findParents = () => Promise.reject(new Error('not simulated'));

/** As {@link parentsInstant}. */
export const isLaneComplete: typeof real.isLaneComplete = () => Promise.reject(new Error('not simulated'));
