import * as v from 'valibot';
import { findConnection } from '../../../db/queries/connections/connections.ts';
import { findQuarantined, listQuarantine } from '../../../db/queries/runs/records/quarantine.ts';
import { requeueConnection, requeueRecord } from '../../control/runs/requeue.ts';
import { found } from '../../core/errors.ts';
import { isId } from '../../core/ids.ts';
import { QuarantineRow } from '../../core/resources/quarantine.ts';
import { bodyId, exampleId, idParams } from '../inputs.ts';
import { queryId } from '../query-inputs.ts';
import { route } from '../route.ts';

const noun = 'Quarantined record';
const Params = idParams('quar', noun);
const tag = 'quarantine';

export const quarantineRoutes = [
  route({
    method: 'get',
    path: '/quarantine',
    summary: 'List the quarantined records of a connection',
    tag,
    auth: 'api_key',
    query: v.object({ connectionId: queryId('con', 'The connection of the records.') }),
    status: 200,
    response: v.array(QuarantineRow),
    errors: ['not_found'],
    handle: async ({ scope, query }, { db }) => {
      const { connectionId } = query;
      found(isId('con', connectionId) && (await findConnection(db, scope, connectionId)), 'Connection');
      return listQuarantine(db, scope, connectionId);
    },
  }),
  route({
    method: 'get',
    path: '/quarantine/:id',
    summary: 'Read a quarantined record',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: QuarantineRow,
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => found(await findQuarantined(db, scope, params.id), noun),
  }),
  route({
    method: 'post',
    path: '/quarantine/:id/requeue',
    summary: 'Retry a quarantined record',
    description:
      'Resolves the record and marks it for retry: the next run of its resource starts with it, as it was stored, under the spec of that run. A record that is still invalid is quarantined again. Retrying a resolved record changes nothing. A record that was too large to store (`too_large`) is only resolved: it is read again when it changes, or by a backfill with `force`.',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: QuarantineRow,
    errors: ['not_found'],
    handle: async ({ scope, params }, deps) => (await requeueRecord(deps, scope, params.id)).record,
  }),
  route({
    method: 'post',
    path: '/quarantine/requeue',
    summary: 'Retry all quarantined records of a connection',
    tag,
    auth: 'api_key',
    body: v.object({
      connectionId: bodyId('con'),
      resourceKey: v.nullish(v.pipe(v.string(), v.minLength(1), v.description('Null: of all resources.')), null),
    }),
    bodyExample: { connectionId: exampleId('con'), resourceKey: 'contacts' },
    status: 200,
    response: v.object({ requeued: v.pipe(v.number(), v.description('Records that were not resolved before.')) }),
    errors: ['not_found'],
    handle: async ({ scope, body }, deps) => ({ requeued: await requeueConnection(deps, scope, body) }),
  }),
];
