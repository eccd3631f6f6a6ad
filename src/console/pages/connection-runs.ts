import * as v from 'valibot';
import { page } from '../route.ts';
import { ConnectionParams, connectionView, openConnection } from './connection-frame.ts';
import { RunsQuery, runList } from './runs.ts';

export const connectionRuns = page({
  path: '/connections/:id/runs',
  params: ConnectionParams,
  query: v.object(RunsQuery),
  handle: async (visit, deps) => {
    const opened = await openConnection(deps, visit.scope, visit.params.id);
    const { connection, resourceKeys } = opened;
    const body = await runList(visit, deps, { query: visit.query, of: { connection, resourceKeys } });
    return connectionView(visit, opened, { tab: '/runs', refreshSeconds: 5, body });
  },
});
