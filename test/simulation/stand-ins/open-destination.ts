/** Stands in for `src/connect/open-destination.ts`: a connection to the simulated database. */
import type * as real from '../../../src/connect/open-destination.ts';
import { currentDatabase } from '../current.ts';

export const prepareDestination: typeof real.prepareDestination = async (_deps, _scope, { resource }) => ({
  destination: currentDatabase().connect(),
  target: { schema: null, table: resource.key, columns: [], evolve: 'none', mode: 'upsert' },
});
