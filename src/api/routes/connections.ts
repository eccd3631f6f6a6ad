import * as v from 'valibot';
import { listConnections } from '../../../db/queries/connections/connections.ts';
import {
  activateConnection,
  createConnection,
  deleteConnection,
  pauseConnection,
} from '../../control/connections/connections.ts';
import { readFreshness } from '../../control/connections/freshness.ts';
import { testConnection } from '../../control/connections/test-connection.ts';
import { updateConnection } from '../../control/connections/update.ts';
import { requestRun } from '../../control/runs/runs.ts';
import { upgradeSpec } from '../../control/specs/upgrade.ts';
import { found } from '../../core/errors.ts';
import { ConnectionRow, ConnectionTest, ConnectionUpdate } from '../../core/resources/connection.ts';
import { FreshnessView } from '../../core/resources/freshness.ts';
import { RunRow } from '../../core/resources/run.ts';
import { SpecUpgrade } from '../../core/resources/spec.ts';
import { Deleted, deleted } from '../../core/resources/values.ts';
import { ConnectionChange, NewConnection } from '../connection-body.ts';
import { exampleId, idParams, NaturalKey } from '../inputs.ts';
import { instant } from '../instant.ts';
import { QueryText } from '../query-inputs.ts';
import { route } from '../route.ts';

const noun = 'Connection';
const Params = idParams('con', noun);
const tag = 'connections';

export const connectionRoutes = [
  route({
    method: 'get',
    path: '/connections',
    summary: 'List the connections',
    tag,
    auth: 'api_key',
    status: 200,
    response: v.array(ConnectionRow),
    errors: [],
    handle: ({ scope }, { db }) => listConnections(db, scope),
  }),
  route({
    method: 'post',
    path: '/connections',
    summary: 'Create a connection',
    description: 'It starts as `pending`: activate it before the first sync. Secrets are encrypted and never returned.',
    tag,
    auth: 'api_key',
    body: NewConnection,
    bodyExample: {
      workspaceId: exampleId('ws'),
      specKey: 'acme-crm',
      specVersion: '1.0.0',
      displayName: 'Acme of Example Ltd',
      externalCustomerId: 'customer-42',
      params: {},
      secrets: { token: 'the-customers-token', databaseUrl: 'postgres://sync:password@db.acme.example/crm' },
    },
    status: 201,
    response: ConnectionRow,
    errors: ['not_found', 'conflict'],
    repeated: 'same_response',
    handle: ({ scope, body }, deps) => createConnection(deps, scope, body),
  }),
  route({
    method: 'get',
    path: '/connections/:id',
    summary: 'Read a connection',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: ConnectionRow,
    errors: ['not_found'],
    handle: async ({ scope, params }, { reads }) => found(await reads.connection(scope, params.id), noun),
  }),
  route({
    method: 'post',
    path: '/connections/:id/sync',
    summary: 'Start a sync of one resource',
    description: 'Accepted work: poll `GET /runs/:id`. A run on a busy resource waits as `queued`, first in first out.',
    tag,
    auth: 'api_key',
    params: Params,
    body: v.object({ resource: v.pipe(v.string(), v.minLength(1), v.description('Key of the resource.')) }),
    bodyExample: { resource: 'contacts' },
    status: 202,
    response: RunRow,
    errors: ['not_found', 'conflict'],
    repeated: 'same_response',
    handle: ({ scope, params, body }, deps) =>
      requestRun(deps, scope, {
        connectionId: params.id,
        resourceKey: body.resource,
        trigger: 'manual',
        backfill: null,
      }),
  }),
  route({
    method: 'post',
    path: '/connections/:id/backfill',
    summary: 'Backfill one resource',
    description:
      'Reads from a start to the current watermark, which does not change, and delivers the records that differ. It is queued like a sync.',
    tag,
    auth: 'api_key',
    params: Params,
    body: v.object({
      resource: v.pipe(v.string(), v.minLength(1), v.description('Key of the resource.')),
      from: v.nullish(
        v.pipe(
          v.union([v.string(), v.number()], 'expected a value of the cursor'),
          v.description('Where to start, as a value of the cursor of the resource. Null: at its `initial`.'),
        ),
        null,
      ),
      force: v.pipe(
        v.optional(v.boolean(), false),
        v.description('Also deliver unchanged records again, and do what the brake on deletes held back.'),
      ),
      rewindTo: v.optional(
        v.nullable(
          instant(
            'In place of `from`: the destination was restored to a copy of this time. The run sends deletes again, reads from where the resource stood then, and delivers all it reads. The brake on deletes holds, unless `force` is true.',
          ),
        ),
        null,
      ),
    }),
    bodyExample: { resource: 'contacts', from: '2026-01-01T00:00:00Z', force: false },
    status: 202,
    response: RunRow,
    errors: ['not_found', 'conflict'],
    repeated: 'same_response',
    handle: ({ scope, params, body }, deps) =>
      requestRun(deps, scope, {
        connectionId: params.id,
        resourceKey: body.resource,
        trigger: 'backfill',
        backfill: { from: body.from, force: body.force },
        rewindTo: body.rewindTo,
      }),
  }),
  route({
    method: 'post',
    path: '/connections/:id/test',
    summary: 'Test a connection without delivering anything',
    description:
      'Checks its values, obtains credentials, reads one page and connects to the destination. The response says what fails; nothing is delivered, and no run is created.',
    tag,
    auth: 'api_key',
    costly: 'side_by_side',
    params: Params,
    query: v.object({
      resource: v.optional(
        v.pipe(
          QueryText,
          v.description('Key of the resource to read. Absent: the first one that can be read without another.'),
        ),
      ),
    }),
    status: 200,
    response: ConnectionTest,
    errors: ['not_found'],
    handle: ({ scope, params, query }, deps) =>
      testConnection(deps, scope, { connectionId: params.id, resourceKey: query.resource ?? null }).then(
        ({ test }) => test,
      ),
  }),
  route({
    method: 'post',
    path: '/connections/:id/activate',
    summary: 'Set a connection active',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: ConnectionRow,
    errors: ['plan_limit', 'not_found'],
    handle: ({ scope, params }, deps) => activateConnection(deps, scope, params.id),
  }),
  route({
    method: 'post',
    path: '/connections/:id/pause',
    summary: 'Pause a connection',
    description:
      'Running and queued runs are canceled, and schedules do not fire. Missed firings are dropped: the next sync continues from the watermark.',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: ConnectionRow,
    errors: ['not_found'],
    handle: ({ scope, params }, deps) => pauseConnection(deps, scope, params.id),
  }),
  route({
    method: 'post',
    path: '/connections/:id/upgrade-spec',
    summary: 'Pin a connection to another version of its spec',
    description:
      'The plan compares both versions resource by resource, with the overrides of the connection. A dry run only returns the plan. The next run performs the resets; a current run of such a resource is canceled. Values that the new version does not declare are dropped. A plan with issues is rejected with 409, and nothing changes.',
    tag,
    auth: 'api_key',
    costly: 'one_by_one',
    params: Params,
    body: v.object({
      toVersion: v.pipe(NaturalKey, v.description('A published version of the same spec.')),
      dryRun: v.optional(v.boolean(), false),
    }),
    bodyExample: { toVersion: '1.1.0', dryRun: true },
    status: 200,
    response: SpecUpgrade,
    errors: ['not_found', 'conflict'],
    handle: ({ scope, params, body }, deps) => upgradeSpec(deps, scope, { ...body, connectionId: params.id }),
  }),
  route({
    method: 'get',
    path: '/connections/:id/freshness',
    summary: 'Read the freshness of a connection',
    description: 'The same as a browser with an embed token gets: health of each resource, ages, the last runs.',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: FreshnessView,
    errors: ['not_found'],
    handle: ({ scope, params }, deps) => readFreshness(deps, scope, params.id),
  }),
  route({
    method: 'patch',
    path: '/connections/:id',
    summary: 'Change a connection',
    description:
      'Absent fields do not change. `params` replace all params, `secrets` merge by key (null deletes one), `specOverridesJson` replaces the overrides (null removes them). Everything is validated together against the effective spec. Later runs use the change; a current run uses only the new secrets. It keeps its spec and params, and is canceled when the change gives its resource another cursor or primary key, or lets it read other records: the next run then starts over, as after an upgrade. `plan` says so for each resource. A change after which a run may delete rows that it no longer finds is rejected with 409 unless `allowDeletes` is true, and nothing changes.',
    tag,
    auth: 'api_key',
    costly: 'one_by_one',
    params: Params,
    body: ConnectionChange,
    yaml: true,
    bodyExample: { displayName: 'Acme of Example Ltd', secrets: { token: 'a-new-token' } },
    status: 200,
    response: ConnectionUpdate,
    errors: ['not_found', 'conflict'],
    handle: ({ scope, params, body }, deps) => updateConnection(deps, scope, { ...body, id: params.id }),
  }),
  route({
    method: 'delete',
    path: '/connections/:id',
    summary: 'Delete a connection',
    description:
      'Every later request responds with 404, its secrets are removed and its open runs are canceled. Runs, call logs, quarantined records and sync state are removed soon after. Rows at the destination stay.',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: Deleted,
    errors: ['not_found'],
    handle: ({ scope, params }, deps) => deleteConnection(deps, scope, params.id).then(deleted),
  }),
];
