import * as v from 'valibot';
import { listHookRequests } from '../../../db/queries/hooks/hook-requests.ts';
import { findHook, listHooks } from '../../../db/queries/hooks/hooks.ts';
import { createHook, deleteHook, rotateHook, toggleHook } from '../../control/hooks/hooks.ts';
import { found } from '../../core/errors.ts';
import { HookRequestRow, HookRow, hookDefaults } from '../../core/resources/hook.ts';
import { orgLimits } from '../../core/resources/org-limits.ts';
import { Deleted, deleted } from '../../core/resources/values.ts';
import { Dedupe, Verification } from '../../core/resources/verification-schema.ts';
import { boundedList } from '../bounded-list.ts';
import { idParams } from '../inputs.ts';
import { route } from '../route.ts';
import { listOfConnection } from './list-of-connection.ts';

const noun = 'Hook';
const Params = idParams('hook', noun);
const ConnectionParams = idParams('con', 'Connection');
const tag = 'hooks';

/** The secret that an upstream signs with or sends; created by the upstream or by the service. */
const Secret = v.pipe(
  v.string(),
  v.minLength(8),
  v.maxLength(500),
  v.regex(/^[\x21-\x7e]+$/, 'expected printable ASCII without blanks'),
  v.description('Absent: one is generated. Set it if the upstream generates the secret itself.'),
);
const seconds = (fallback: number, most: number, description: string) =>
  v.pipe(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(most)), fallback),
    v.description(description),
  );
const shownOnce = (description: string) => v.pipe(v.nullable(v.string()), v.description(description));
const urlExample = 'http://localhost:3100/api/hooks/mG5s…';

export const hookRoutes = [
  listOfConnection(tag, HookRow, listHooks),
  route({
    method: 'post',
    path: '/connections/:id/hooks',
    summary: 'Create a hook, through which the upstream starts syncs',
    description:
      'Register `url` with the upstream; it and a generated secret are shown only once. A verified request gets 202 once it is stored, and then a run of each resource starts: many requests share one run. The same notification counts once: by its id for 7 days, without an id by its body until its run begins. A request that signs what came before, under another id, is followed by a run a minute later at most. Of the requests beyond those that the org stores in an hour only some are known again; a run follows each of them. If the run fails, another one follows after 1, 5, 15 and 60 minutes, then each hour. Requests are ignored while the connection is not active; one run of each resource follows when it is active again. More than 100 requests at the same time get 429 and `Retry-After`. The handshakes of Slack, Microsoft Graph, Meta and CloudEvents are supported.',
    tag,
    auth: 'api_key',
    params: ConnectionParams,
    body: v.object({
      resourceKeys: v.pipe(boundedList(v.pipe(v.string(), v.minLength(1)), 50), v.minLength(1)),
      verification: v.pipe(
        v.intersect([Verification, v.object({ secret: v.optional(Secret) })]),
        v.description(
          'How a request proves that it comes from the upstream. With `none` anyone who has the address can start syncs.',
        ),
      ),
      dedupe: v.optional(v.nullable(Dedupe), hookDefaults.dedupe),
      debounceSeconds: seconds(
        hookDefaults.debounceSeconds,
        300,
        'The run starts when no request has arrived for this time,',
      ),
      maxWaitSeconds: seconds(
        hookDefaults.maxWaitSeconds,
        3600,
        'or this time after the first request, however many arrive.',
      ),
    }),
    bodyExample: { resourceKeys: ['contacts'], verification: { kind: 'standard_webhooks' } },
    status: 201,
    response: v.object({
      ...HookRow.entries,
      url: v.pipe(v.string(), v.examples([urlExample])),
      secret: shownOnce('Null: you set it, or none is needed.'),
    }),
    errors: ['not_found', 'conflict'],
    repeated: 'conflict',
    handle: ({ scope, params, body }, deps) => {
      const { secret, ...verification } = body.verification;
      return createHook(deps, scope, { ...body, connectionId: params.id, verification, secret });
    },
  }),
  route({
    method: 'get',
    path: '/hooks/:id',
    summary: 'Read a hook',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: HookRow,
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => found(await findHook(db, scope, params.id), noun),
  }),
  route({
    method: 'patch',
    path: '/hooks/:id',
    summary: 'Enable or disable a hook',
    description: 'While it is disabled, its address responds as if the hook did not exist.',
    tag,
    auth: 'api_key',
    params: Params,
    body: v.object({ enabled: v.boolean() }),
    bodyExample: { enabled: false },
    status: 200,
    response: HookRow,
    errors: ['not_found'],
    handle: ({ scope, params, body }, deps) => toggleHook(deps, scope, { ...body, id: params.id }),
  }),
  route({
    method: 'delete',
    path: '/hooks/:id',
    summary: 'Delete a hook',
    description: 'Runs that it has started continue.',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: Deleted,
    errors: ['not_found'],
    handle: ({ scope, params }, deps) => deleteHook(deps, scope, params.id).then(deleted),
  }),
  route({
    method: 'post',
    path: '/hooks/:id/rotate',
    summary: 'Replace the address or the secret of a hook',
    description: 'The old value is rejected from now on, without overlap.',
    tag,
    auth: 'api_key',
    params: Params,
    body: v.object({
      replace: v.pipe(boundedList(v.picklist(['url', 'secret']), 2), v.minLength(1)),
      secret: v.optional(Secret),
    }),
    bodyExample: { replace: ['secret'] },
    status: 200,
    response: v.object({
      ...HookRow.entries,
      url: v.pipe(shownOnce('Null: unchanged.'), v.examples([urlExample])),
      secret: shownOnce('Null: unchanged, or you set it.'),
    }),
    errors: ['not_found'],
    repeated: 'conflict',
    handle: ({ scope, params, body }, deps) => rotateHook(deps, scope, { ...body, id: params.id, secret: body.secret }),
  }),
  route({
    method: 'get',
    path: '/hooks/:id/requests',
    summary: 'List the requests to a hook',
    description: [
      `Those of the last 7 days, newest first, without their contents. An org has at most ${orgLimits.idleHookRequests.default} of them`,
      'an hour, by default, that are rejected, ignored or duplicates. More are not listed, and get 429 instead of 401.',
      `Of accepted ones ${orgLimits.hookRequests.default} an hour are listed, by default; of more, those that the first runs after them wait for.`,
    ].join(' '),
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: v.array(HookRequestRow),
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => {
      found(await findHook(db, scope, params.id), noun);
      return listHookRequests(db, scope, params.id);
    },
  }),
];
