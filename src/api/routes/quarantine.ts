import * as v from 'valibot';
import { findConnection } from '../../../db/queries/connections.ts';
import { findQuarantined, listQuarantine } from '../../../db/queries/quarantine.ts';
import { notFound } from '../../core/errors.ts';
import { isId } from '../../core/ids.ts';
import { QuarantineRow } from '../../core/rows.ts';
import { idParams } from '../inputs.ts';
import { queryId } from '../query-inputs.ts';
import { route } from '../route.ts';

const noun = 'Quarantined record';
const tag = 'quarantine';

/** Records that failed validation. */
export const quarantineRoutes = [
  route({
    method: 'get',
    path: '/quarantine',
    summary: 'List the quarantined records of a connection',
    tag,
    auth: 'api_key',
    query: v.object({ connectionId: queryId('con', 'Whose records.') }),
    status: 200,
    response: v.array(QuarantineRow),
    errors: ['not_found'],
    handle: async ({ scope, query }, { db }) => {
      const { connectionId } = query;
      const known = isId('con', connectionId) && (await findConnection(db, scope, connectionId));
      if (!known) throw notFound('Connection');
      return listQuarantine(db, scope, connectionId);
    },
  }),
  route({
    method: 'get',
    path: '/quarantine/:id',
    summary: 'Read a quarantined record',
    tag,
    auth: 'api_key',
    params: idParams('quar', noun),
    status: 200,
    response: QuarantineRow,
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => {
      const record = await findQuarantined(db, scope, params.id);
      if (!record) throw notFound(noun);
      return record;
    },
  }),
];
