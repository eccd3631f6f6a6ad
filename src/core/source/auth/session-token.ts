import { createHash } from 'node:crypto';
import { AppError } from '../../errors.ts';
import type { SessionAuth } from '../../spec/schema/auth-schema.ts';
import type { HttpSettings } from '../../spec/schema/http-schema.ts';
import { conditionsOf } from '../request/conditional-responses.ts';
import { createEvaluate } from '../request/evaluate.ts';
import { renderRequest } from '../request/render-request.ts';
import type { Source } from '../source.ts';
import type { TokenRequestContext } from './oauth-token.ts';
import { type LoginResponse, limitToken, type Token } from './token.ts';
import { decodeTokenResponse, sendTokenRequest, tokenTransport } from './token-client.ts';

type LoginSource = Pick<Source, 'evaluator' | 'run'> & { readonly http: HttpSettings };

interface LoginContext extends TokenRequestContext {
  /** Basis of a conditional login, or `null` if none is known or it was rejected. */
  readonly previous: Token | null;
}

/**
 * The token lives until `expiresFrom`, else for `ttlSeconds`, else until the API rejects it, but never longer than the
 * login's `cache`. Throws `auth_failed` if the response has no token, and what requests throw.
 */
export async function requestSession(auth: SessionAuth, source: LoginSource, context: LoginContext): Promise<Token> {
  const response = await logIn(auth, source, context);
  const evaluate = createEvaluate(source.evaluator, new Date(source.run.startedAt));
  const roots = { body: response.body, headers: response.headers, status: response.status };
  const token = await evaluate(auth.tokenFrom, roots);
  if ((typeof token !== 'string' && typeof token !== 'number') || token === '') {
    const message = `The login responded with ${response.status}, but auth.tokenFrom finds no token in the response.`;
    throw new AppError('auth_failed', `${message} Check the connection's credentials and the expression.`);
  }
  limitToken(String(token));
  const nowMs = context.now().getTime();
  const said = auth.expiresFrom === undefined ? null : instantOf(await evaluate(auth.expiresFrom, roots), nowMs);
  const after = (seconds: number | undefined) => (seconds === undefined ? null : nowMs + seconds * 1000);
  const { mode, ttlSeconds } = auth.login.cache;
  return {
    accessToken: String(token),
    expiresAtMs: earlier(said ?? after(auth.ttlSeconds), mode === 'ttl' ? after(ttlSeconds) : null),
    obtainedAtMs: nowMs,
    refreshToken: null,
    metadata: {},
    ...(isKept(auth, response) ? { login: response } : {}),
  };
}

async function logIn({ login }: SessionAuth, source: LoginSource, context: LoginContext): Promise<LoginResponse> {
  const { client, values, previous } = context;
  const { http: request } = await renderRequest({ ...source, client }, login, {
    render: values,
    link: null,
    inject: null,
  });
  const { timeoutMs = tokenTransport.timeoutMs } = login;
  const content = JSON.stringify([request.method, request.url.href, request.headers]);
  const requestKey = createHash('sha256').update(content).digest('base64url');
  const known = previous?.login?.requestKey === requestKey ? previous.login : null;
  const headers = { ...request.headers, ...(known ? conditionsOf(known) : {}) };
  const response = await sendTokenRequest(client, { ...request, headers, ...tokenTransport, timeoutMs });
  if (known && response.status === 304) return known;
  return { requestKey, status: response.status, headers: response.headers, body: decodeTokenResponse(response.body) };
}

const isKept = ({ login: { method, cache } }: SessionAuth, response: LoginResponse): boolean =>
  method === 'GET' && cache.mode === 'conditional' && Object.keys(conditionsOf(response)).length > 0;

const earlier = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);

/**
 * Milliseconds since the epoch of an ISO 8601 date, an HTTP date or a number, otherwise `null`. Numbers from 1e11 are
 * milliseconds since the epoch, from 1e9 seconds since the epoch, smaller ones seconds from now.
 */
export function instantOf(value: unknown, nowMs: number): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number === 'number' && number > 0) {
    if (number >= 1e11) return number;
    return number >= 1e9 ? number * 1000 : nowMs + number * 1000;
  }
  const date = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? null : date;
}
