import * as v from 'valibot';
import { mintEmbedToken } from '../../control/connections/embed.ts';
import { readFreshness } from '../../control/connections/freshness.ts';
import { embedSecondsMax } from '../../core/crypto/embed-token.ts';
import { FreshnessView } from '../../core/resources/freshness.ts';
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
      'It reads one connection through `GET /embed/connection` and nothing else, until it expires. Your server requests it for the widget at `/embed/freshness.js`; the API key never leaves your server.',
    tag,
    auth: 'api_key',
    body: v.object({
      connectionId: v.pipe(v.string(), v.examples([exampleId('con')])),
      ttlSeconds: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(embedSecondsMax)), usualSeconds),
    }),
    bodyExample: { connectionId: exampleId('con'), ttlSeconds: usualSeconds },
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
];
