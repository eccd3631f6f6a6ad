/** Stands in for `src/dispatch/wake-endpoints.ts`: events are not simulated. */
import type * as real from '../../../src/dispatch/wake-endpoints.ts';

export const wakeEndpoints: typeof real.wakeEndpoints = async () => {};
