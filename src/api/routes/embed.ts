import * as v from 'valibot';
import { createSession, sessionOf } from '../../control/connect-sessions/create-session.ts';
import { mintEmbedToken } from '../../control/connections/embed.ts';
import { pauseAsCustomer, resumeAsCustomer, syncAll } from '../../control/connections/embed-actions.ts';
import { readFreshness } from '../../control/connections/freshness.ts';
import { embedScopes, embedSecondsMax } from '../../core/crypto/embed-token.ts';
import { FreshnessView } from '../../core/resources/freshness.ts';
import { RunRow } from '../../core/resources/run.ts';
import { Timestamp } from '../../core/resources/values.ts';
import { boundedList } from '../bounded-list.ts';
import { exampleId } from '../inputs.ts';
import { route } from '../route.ts';

const tag = 'embed';
const usualSeconds = 900;

export const embedRoutes = [
  route({
    method: 'post',
    path: '/tokens/embed',
    summary: 'Create a token for a browser',
    description:
      'It reads one connection through `GET /embed/connection`, and does what its scopes allow, until it expires. Your server requests it for the widget at `/embed/freshness.js`; the API key never leaves your server.',
    tag,
    auth: 'api_key',
    body: v.object({
      connectionId: v.pipe(v.string(), v.examples([exampleId('con')])),
      scopes: v.pipe(
        v.optional(boundedList(v.picklist(embedScopes), embedScopes.length), ['read']),
        v.description(
          'What the customer may do in your page: `sync` begins runs, `pause` pauses and resumes, `reauthorize` opens a connect session. `read` is always part of it.',
        ),
      ),
      ttlSeconds: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(embedSecondsMax)), usualSeconds),
    }),
    bodyExample: { connectionId: exampleId('con'), scopes: ['sync', 'pause'], ttlSeconds: usualSeconds },
    status: 200,
    response: v.object({
      token: v.string(),
      expiresAt: v.pipe(v.number(), v.description('Epoch seconds.'), v.examples([1_772_354_700])),
    }),
    errors: ['not_found'],
    handle: ({ scope, body }, deps) => mintEmbedToken(deps, scope, body),
  }),
  route({
    method: 'get',
    path: '/embed/connection',
    summary: 'Read the freshness of the connection of an embed token',
    description:
      'Also for pages of other origins (CORS). On 401 let your server request a new token; 404: the connection was deleted.',
    tag,
    auth: 'embed_token',
    status: 200,
    response: FreshnessView,
    errors: ['not_found'],
    handle: ({ scope, caller }, deps) => readFreshness(deps, scope, caller.connectionId),
  }),
  route({
    method: 'post',
    path: '/embed/connection/sync',
    summary: 'Sync the connection of an embed token',
    description: 'Every resource that no run of is queued or running. Needs the scope `sync`.',
    tag,
    auth: 'embed_token',
    embedScope: 'sync',
    status: 202,
    response: v.object({ runs: v.array(v.pick(RunRow, ['id', 'resourceKey', 'status'])) }),
    errors: ['not_found', 'conflict'],
    handle: async ({ scope, caller }, deps) => ({ runs: await syncAll(deps, scope, caller.connectionId) }),
  }),
  route({
    method: 'post',
    path: '/embed/connection/pause',
    summary: 'Pause the connection of an embed token',
    description: 'As `POST /connections/:id/pause`. Needs the scope `pause`.',
    tag,
    auth: 'embed_token',
    embedScope: 'pause',
    status: 200,
    response: FreshnessView,
    errors: ['not_found', 'conflict'],
    handle: ({ scope, caller }, deps) => pauseAsCustomer(deps, scope, caller.connectionId),
  }),
  route({
    method: 'post',
    path: '/embed/connection/resume',
    summary: 'End the pause of the connection of an embed token',
    description: 'Only of a paused one. Needs the scope `pause`.',
    tag,
    auth: 'embed_token',
    embedScope: 'pause',
    status: 200,
    response: FreshnessView,
    errors: ['not_found', 'conflict', 'plan_limit'],
    handle: ({ scope, caller }, deps) => resumeAsCustomer(deps, scope, caller.connectionId),
  }),
  route({
    method: 'post',
    path: '/embed/connection/reauthorize',
    summary: 'Let the customer of an embed token connect again',
    description:
      'Makes a connect session for its connection, as `POST /connect-sessions` does with its id alone. It takes the place of an earlier one. Open `url` in a window. Needs the scope `reauthorize`.',
    tag,
    auth: 'embed_token',
    embedScope: 'reauthorize',
    costly: 'side_by_side',
    status: 201,
    response: v.object({ url: v.string(), expiresAt: Timestamp }),
    errors: ['not_found', 'conflict'],
    handle: async ({ scope, caller }, deps) => {
      const { url, expiresAt } = await createSession(deps, scope, {
        ...sessionOf(caller.connectionId),
        fromEmbed: true,
      });
      return { url, expiresAt };
    },
  }),
];
