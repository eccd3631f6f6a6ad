import * as v from 'valibot';
import { findConnectSessionRow, listConnectSessions } from '../../../db/queries/connect-sessions/sessions.ts';
import { changeConnectSettings, readConnectSettings } from '../../../db/queries/connect-sessions/settings.ts';
import { cancelSession, createSession, usualSessionSeconds } from '../../control/connect-sessions/create-session.ts';
import { confirmSession } from '../../control/connect-sessions/finish.ts';
import { isReturnOrigin } from '../../control/oauth/return-url.ts';
import { found } from '../../core/errors.ts';
import { JsonObject } from '../../core/json/json-object.ts';
import { ConnectSchedule, ConnectSessionRow } from '../../core/resources/connect-session.ts';
import { ConnectSettings } from '../../core/resources/connect-settings.ts';
import { boundedList } from '../bounded-list.ts';
import { bodyId, DisplayText, exampleId, idParams, NaturalKey } from '../inputs.ts';
import { route } from '../route.ts';

const noun = 'Session';
const Params = idParams('cse', noun);
const tag = 'connect sessions';
const secondsMax = 86_400;

const Key = v.pipe(v.string(), v.minLength(1), v.maxLength(200));

const FramingOrigin = v.pipe(
  v.string(),
  v.maxLength(300),
  v.check(
    // A host may have `;`, which ends a directive of the policy that names it.
    (text) => isReturnOrigin(text) && new URL(text).origin === text && !text.includes(';'),
    'expected an origin such as https://app.acme.example, without a path; http only on a loopback address',
  ),
);

const NewSession = v.object({
  connectionId: v.nullish(
    v.pipe(bodyId('con'), v.description('The connection to authorize again or to correct. Absent: a new one is made.')),
    null,
  ),
  workspaceId: v.nullish(
    v.pipe(bodyId('ws'), v.description('Of the new connection, as is all up to `overrides`.')),
    null,
  ),
  specKey: v.nullish(NaturalKey, null),
  specVersion: v.nullish(v.pipe(NaturalKey, v.description('Absent: the version that was published last.')), null),
  displayName: v.nullish(v.pipe(DisplayText, v.description('Absent: the name of the spec.')), null),
  externalCustomerId: v.nullish(v.pipe(NaturalKey, v.description('Your id of the end customer.')), null),
  params: v.pipe(
    v.optional(JsonObject, {}),
    v.description('Values that you fix: the customer neither sees nor changes them.'),
  ),
  secrets: v.pipe(v.optional(JsonObject, {}), v.description('Secret values that you fix.')),
  overrides: v.nullish(v.pipe(JsonObject, v.description('Keyed merge patch on the spec.')), null),
  ask: v.nullish(
    v.pipe(
      boundedList(Key, 200),
      v.description(
        'Keys of the values that the customer enters. Absent: all that you do not fix; with `connectionId` those that they entered before, and they consent anew.',
      ),
    ),
    null,
  ),
  newAccount: v.pipe(
    v.optional(v.boolean(), false),
    v.description('Whether they may sign in to another account than before: everything is then read from the start.'),
  ),
  resources: v.pipe(
    v.optional(boundedList(Key, 200), []),
    v.description('Keys of the resources that are synced as soon as the customer is connected.'),
  ),
  schedules: v.pipe(
    v.optional(boundedList(ConnectSchedule, 200), []),
    v.description('Schedules that are made when the customer is connected.'),
  ),
  returnUrl: v.nullish(
    v.pipe(
      v.string(),
      v.description(
        'A page of yours, on one of `returnOrigins` of `/oauth/settings`. It gets a `code`, and the connection becomes active when your server confirms it.',
      ),
    ),
    null,
  ),
  allowedOrigins: v.pipe(
    v.optional(boundedList(FramingOrigin, 20), []),
    v.description('The origins of your pages that show the widget. Empty: nobody frames the page.'),
  ),
  ttlSeconds: v.pipe(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(60), v.maxValue(secondsMax)), usualSessionSeconds),
    v.description('How long the customer has.'),
  ),
});

const code = 'xUlDk1kQ0pcmBjyiFyg7-ByMSfCkPb5rTOe5xsx5HaE';

export const connectSessionRoutes = [
  route({
    method: 'post',
    path: '/connect-sessions',
    summary: 'Let a customer connect',
    description:
      'Send the customer to `url`, or give `token` to the widget on your page. They enter what you do not fix, consent at the provider, and see the test. The connection becomes active when it succeeds. What a session has made and does not finish is removed when it ends.',
    tag,
    auth: 'api_key',
    costly: 'side_by_side',
    body: NewSession,
    bodyExample: {
      workspaceId: exampleId('ws'),
      specKey: 'acme-crm',
      displayName: 'Acme of Example Ltd',
      externalCustomerId: 'customer-42',
      secrets: { databaseUrl: 'postgresql://sync:password@db.acme.example/crm' },
      schedules: [{ resourceKey: 'contacts', cron: '*/15 * * * *' }],
      resources: ['contacts'],
      allowedOrigins: ['https://app.acme.example'],
    },
    status: 201,
    response: v.object({
      id: ConnectSessionRow.entries.id,
      token: v.pipe(
        v.string(),
        v.description('For this session alone; shown once. It is no API key and no embed token.'),
        v.examples([`cst_01kaemm0dce7xb1k4c1m1f2p3q${code}`]),
      ),
      url: v.pipe(
        v.string(),
        v.description('The page, with the token behind `#`, which no server or log sees.'),
        v.examples([`https://sync.example.com/connect/${exampleId('cse')}#cst_01kaemm0dce7xb1k4c1m1f2p3q${code}`]),
      ),
      expiresAt: ConnectSessionRow.entries.expiresAt,
    }),
    errors: ['not_found', 'conflict'],
    repeated: 'conflict',
    handle: ({ scope, body }, deps) => createSession(deps, scope, { ...body, fromEmbed: false }),
  }),
  route({
    method: 'get',
    path: '/connect-sessions',
    summary: 'List the connect sessions, ended ones too',
    tag,
    auth: 'api_key',
    status: 200,
    response: v.array(ConnectSessionRow),
    errors: [],
    handle: ({ scope }, { db }) => listConnectSessions(db, scope),
  }),
  route({
    method: 'post',
    path: '/connect-sessions/confirm',
    summary: 'Confirm who was there',
    description:
      'Takes the `code` that came to your `returnUrl`, once. Take the session from the session of that browser, never from its address: a code of another session is a 404. The connection then becomes active.',
    tag,
    auth: 'api_key',
    costly: 'side_by_side',
    body: v.object({
      sessionId: bodyId('cse'),
      code: v.pipe(v.string(), v.minLength(1), v.maxLength(200), v.examples([code])),
    }),
    bodyExample: { sessionId: exampleId('cse'), code },
    status: 200,
    response: ConnectSessionRow,
    errors: ['not_found', 'conflict', 'plan_limit'],
    handle: ({ scope, body }, deps) => confirmSession(deps, scope, body),
  }),
  route({
    method: 'get',
    path: '/connect-sessions/:id',
    summary: 'Read where a customer is',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: ConnectSessionRow,
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => found(await findConnectSessionRow(db, scope, params.id), noun),
  }),
  route({
    method: 'delete',
    path: '/connect-sessions/:id',
    summary: 'End a connect session',
    description: 'Its token is good for nothing then. A connection that it has made and that is not active is deleted.',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: ConnectSessionRow,
    errors: ['not_found', 'conflict'],
    handle: ({ scope, params }, deps) => cancelSession(deps, scope, params.id),
  }),
  route({
    method: 'get',
    path: '/connect-settings',
    summary: 'Read how the page for customers looks',
    tag,
    auth: 'api_key',
    status: 200,
    response: ConnectSettings,
    errors: [],
    handle: ({ scope }, { db }) => readConnectSettings(db, scope),
  }),
  route({
    method: 'patch',
    path: '/connect-settings',
    summary: 'Change how the page for customers looks',
    description: 'Absent fields do not change.',
    tag,
    auth: 'api_key',
    body: v.partial(ConnectSettings),
    bodyExample: { name: 'Acme', color: '#0a7f5a' },
    status: 200,
    response: ConnectSettings,
    errors: [],
    handle: ({ scope, body }, { db }) => changeConnectSettings(db, scope, body),
  }),
];
