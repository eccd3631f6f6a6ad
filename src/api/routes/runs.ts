import * as v from 'valibot';
import { findConnection } from '../../../db/queries/connections/connections.ts';
import { listCalls } from '../../../db/queries/runs/calls.ts';
import { listRuns } from '../../../db/queries/runs/run-list.ts';
import { findRun } from '../../../db/queries/runs/runs.ts';
import { cancelRun, replayRun } from '../../control/runs/runs.ts';
import { found } from '../../core/errors.ts';
import { isId } from '../../core/ids.ts';
import { CallLogRow, RunRow, RunStatus, RunTrigger } from '../../core/resources/run.ts';
import { idParams } from '../inputs.ts';
import { QueryText, queryFirst, queryId, queryInstant } from '../query-inputs.ts';
import { route } from '../route.ts';

const noun = 'Run';
const Params = idParams('run', noun);
const tag = 'runs';

export const runRoutes = [
  route({
    method: 'get',
    path: '/runs',
    summary: 'List the runs, newest first',
    tag,
    auth: 'api_key',
    query: v.object({
      connectionId: v.optional(queryId('con', 'Only runs of this connection.')),
      status: v.optional(RunStatus),
      resource: v.optional(v.pipe(QueryText, v.description('Key of the resource.'))),
      trigger: v.optional(RunTrigger),
      since: v.optional(queryInstant('Requested at or after; ISO 8601 with a zone.')),
      limit: queryFirst(1000),
    }),
    status: 200,
    response: v.array(RunRow),
    errors: ['not_found'],
    handle: async ({ scope, query }, { db }) => {
      const { connectionId } = query;
      if (connectionId !== undefined) {
        found(isId('con', connectionId) && (await findConnection(db, scope, connectionId)), 'Connection');
      }
      return listRuns(db, scope, query);
    },
  }),
  route({
    method: 'get',
    path: '/runs/:id',
    summary: 'Read a run',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: RunRow,
    errors: ['not_found'],
    handle: async ({ scope, params }, { reads }) => found(await reads.run(scope, params.id), noun),
  }),
  route({
    method: 'get',
    path: '/runs/:id/calls',
    summary: 'List the outbound HTTP calls of a run',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: v.array(CallLogRow),
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => {
      found(await findRun(db, scope, params.id), noun);
      return listCalls(db, scope, params.id);
    },
  }),
  route({
    method: 'post',
    path: '/runs/:id/replay',
    summary: 'Start a fresh run of the same connection and resource',
    tag,
    auth: 'api_key',
    params: Params,
    status: 202,
    response: RunRow,
    errors: ['not_found', 'conflict'],
    repeated: 'same_response',
    handle: ({ scope, params }, deps) => replayRun(deps, scope, params.id),
  }),
  route({
    method: 'post',
    path: '/runs/:id/cancel',
    summary: 'Cancel a run',
    description:
      'The current request is aborted, and the run is canceled within about two seconds. Delivered records stay; the next run records a batch that is still in progress then.',
    tag,
    auth: 'api_key',
    params: Params,
    status: 202,
    response: RunRow,
    errors: ['not_found', 'conflict'],
    handle: ({ scope, params }, deps) => cancelRun(deps, scope, params.id),
  }),
];
