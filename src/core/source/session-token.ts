import { AppError } from '../errors.ts';
import type { SessionAuth } from '../spec/auth-schema.ts';
import type { HttpSettings } from '../spec/http-schema.ts';
import { createEvaluate } from './evaluate.ts';
import type { TokenRequestContext } from './oauth-token.ts';
import { renderRequest } from './render-request.ts';
import type { Source } from './source.ts';
import type { Token } from './token.ts';
import { decodeTokenAnswer, sendTokenRequest, tokenTransport } from './token-client.ts';

/** The parts of a source that a login is made with. */
type LoginSource = Pick<Source, 'evaluator' | 'run'> & { readonly http: HttpSettings };

/**
 * Logs in and takes the session's token from the answer. It lives until `expiresFrom`, else for `ttlSeconds`, else
 * until the API refuses it. Throws `auth_failed` when the answer has no token, and what requests throw.
 */
export async function requestSession(
  auth: SessionAuth,
  source: LoginSource,
  { client, values, now }: TokenRequestContext,
): Promise<Token> {
  const { http: request } = await renderRequest(source.http, auth.login, { render: values, link: null, inject: null });
  const { timeoutMs = tokenTransport.timeoutMs } = auth.login;
  const answer = await sendTokenRequest(client, { ...request, ...tokenTransport, timeoutMs });
  const evaluate = createEvaluate(source.evaluator, new Date(source.run.startedAt));
  const roots = { body: decodeTokenAnswer(answer.body), headers: answer.headers, status: answer.status };
  const token = await evaluate(auth.tokenFrom, roots);
  if ((typeof token !== 'string' && typeof token !== 'number') || token === '') {
    const message = `The login answered ${answer.status}, but auth.tokenFrom finds no token in it.`;
    throw new AppError('auth_failed', `${message} Check the connection's credentials and the expression.`);
  }
  const nowMs = now().getTime();
  const said = auth.expiresFrom === undefined ? null : instantOf(await evaluate(auth.expiresFrom, roots), nowMs);
  const ttlMs = auth.ttlSeconds === undefined ? null : nowMs + auth.ttlSeconds * 1000;
  const expiresAtMs = said ?? ttlMs;
  return { accessToken: String(token), expiresAtMs, obtainedAtMs: nowMs, refreshToken: null, metadata: {} };
}

/**
 * The instant that a value names, ms since the epoch: an ISO 8601 or HTTP date, or a number, by its size milliseconds
 * since the epoch (from 1e11), seconds since the epoch (from 1e9) or seconds from now. Null when it names none.
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
