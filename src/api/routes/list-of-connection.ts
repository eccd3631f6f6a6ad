import * as v from 'valibot';
import type { Db } from '../../../db/client.ts';
import type { Listing } from '../../../db/listing.ts';
import { findConnection } from '../../../db/queries/connections/connections.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { found } from '../../core/errors.ts';
import { idParams } from '../inputs.ts';
import { type Route, route } from '../route.ts';

/** `things` is also the tag and the end of the path. */
export const listOfConnection = <Row>(
  things: string,
  row: v.GenericSchema<Row>,
  list: (db: Db, scope: OrgScope, connectionId: string) => Promise<Listing<Row>>,
): Route =>
  route({
    method: 'get',
    path: `/connections/:id/${things}`,
    summary: `List the ${things} of a connection`,
    tag: things,
    auth: 'api_key',
    params: idParams('con', 'Connection'),
    status: 200,
    response: v.array(row),
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => {
      found(await findConnection(db, scope, params.id), 'Connection');
      return list(db, scope, params.id);
    },
  });
