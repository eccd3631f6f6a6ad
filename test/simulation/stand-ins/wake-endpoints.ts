/** Stands in for `src/connect/wake-endpoints.ts`: events are not simulated. */
import type * as real from '../../../src/connect/wake-endpoints.ts';

export const wakeEndpoints: typeof real.wakeEndpoints = async () => {};
