import { randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { type AuthDeps, type Caller, callerOfSession } from '../api/auth.ts';
import { signToken, type TokenKind, verifyToken } from '../core/crypto/signed-token.ts';
import type { ConsoleSettings } from '../deps.ts';

/** The life of a session without a request that a person makes, in seconds. */
export const idleSeconds = 60 * 60;
/** The longest life of a session in seconds. */
export const absoluteSeconds = 12 * 60 * 60;
/** The age in seconds at which the cookie is renewed: not with every request. */
const renewAfterSeconds = 60;

/** The cookie that carries a session. */
const sessionCookie = 'console_session';
/** Sent by the script when it refreshes a page by itself: that keeps no session alive. */
const refreshHeader = 'x-console-refresh';

/** What a session remembers between requests; all of it is in its signed cookie. */
export interface Session {
  /** The lookup id of the API key that opened it; the key is looked up for every request. */
  readonly lookupId: string;
  /** The token that stands in every form of the session: a page of another site cannot know it. */
  readonly formToken: string;
  /** The time at which it was opened, in seconds since 1970. */
  readonly openedAt: number;
  /** The time at which its cookie was made, in seconds since 1970. */
  readonly renewedAt: number;
}

/** What opening and finding sessions takes. */
export interface SessionDeps {
  readonly console: Pick<ConsoleSettings, 'sessionKeys'>;
  readonly publicUrl: string;
}

const kind = ({ publicUrl }: SessionDeps): TokenKind => ({
  type: 'console-session+jwt',
  audience: 'console',
  issuer: publicUrl,
});
const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** Opens a session for the key with that lookup id, which has been verified: a cookie of the response. */
export async function openSession(c: Context, deps: SessionDeps, lookupId: string): Promise<void> {
  const formToken = randomBytes(18).toString('base64url');
  await setSession(c, deps, { lookupId, formToken, openedAt: nowSeconds() });
}

/** Ends the session in this browser. */
export function closeSession(c: Context, deps: SessionDeps): void {
  deleteCookie(c, sessionCookie, placeOf(deps));
}

/** A valid session and its caller. */
export interface OpenSession {
  readonly session: Session;
  readonly caller: Caller;
}

/**
 * The session of a request; null when there is none, when it was altered, has been idle or open for too long, or when its
 * key was revoked or has expired.
 */
export async function findSession(c: Context, deps: SessionDeps & AuthDeps): Promise<OpenSession | null> {
  const token = getCookie(c, sessionCookie);
  const session = token === undefined ? null : await readSession(deps, token);
  if (!session) return null;
  const caller = await callerOfSession(deps, session.lookupId);
  return caller && { session, caller };
}

/** Keeps a session alive that a person uses. */
export async function renewSession(c: Context, deps: SessionDeps, session: Session): Promise<void> {
  const isByHand = c.req.header(refreshHeader) === undefined;
  if (isByHand && nowSeconds() - session.renewedAt >= renewAfterSeconds) await setSession(c, deps, session);
}

async function readSession(deps: SessionDeps, token: string): Promise<Session | null> {
  const required = { token, requiredClaims: ['sub', 'form', 'opened'] };
  const claims = await verifyToken(deps.console.sessionKeys, kind(deps), required);
  const { sub, form, opened, iat } = claims ?? {};
  if (sub === undefined || typeof form !== 'string' || typeof opened !== 'number' || iat === undefined) return null;
  if (nowSeconds() - opened >= absoluteSeconds) return null;
  return { lookupId: sub, formToken: form, openedAt: opened, renewedAt: iat };
}

async function setSession(c: Context, deps: SessionDeps, session: Omit<Session, 'renewedAt'>): Promise<void> {
  const { lookupId, formToken, openedAt } = session;
  const claims = { sub: lookupId, form: formToken, opened: openedAt };
  const ttlSeconds = Math.min(idleSeconds, openedAt + absoluteSeconds - nowSeconds());
  const token = await signToken(deps.console.sessionKeys, kind(deps), { claims, ttlSeconds });
  setCookie(c, sessionCookie, token, { ...placeOf(deps), httpOnly: true, sameSite: 'Strict', maxAge: ttlSeconds });
}

const placeOf = ({ publicUrl }: SessionDeps) => ({ path: '/console', secure: publicUrl.startsWith('https:') });
