import { randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { type AuthDeps, type Caller, callerOfSession } from '../api/auth.ts';
import { signToken, type TokenKind, verifyToken } from '../core/crypto/signed-token.ts';
import type { ConsoleSettings } from '../deps.ts';

/** A session ends after this time without a request by a person. */
export const idleSeconds = 60 * 60;
export const absoluteSeconds = 12 * 60 * 60;
/** Age at which the cookie is renewed: not with every request. */
const renewAfterSeconds = 60;

/** With the prefix no other host of the domain can set it. */
const cookieOf = (deps: SessionDeps): string => `${isSecure(deps) ? '__Host-' : ''}console_session`;
/** Sent by the script's own refreshes, which must not keep a session alive. */
const refreshHeader = 'x-console-refresh';

export interface Session {
  /** The key is looked up for every request. */
  readonly lookupId: string;
  /** In every form of the session: a page of another site cannot know it. */
  readonly formToken: string;
  readonly openedAt: number;
  /** Like `openedAt`, in seconds since 1970. */
  readonly renewedAt: number;
}

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

/** The key must have been verified. */
export async function openSession(c: Context, deps: SessionDeps, lookupId: string): Promise<void> {
  const formToken = randomBytes(18).toString('base64url');
  await setSession(c, deps, { lookupId, formToken, openedAt: nowSeconds() });
}

export function closeSession(c: Context, deps: SessionDeps): void {
  deleteCookie(c, cookieOf(deps), placeOf(deps));
}

export interface OpenSession {
  readonly session: Session;
  readonly caller: Caller;
}

/** `null` without a valid session: altered, idle or open for too long, or its key was revoked or has expired. */
export async function findSession(c: Context, deps: SessionDeps & AuthDeps): Promise<OpenSession | null> {
  const token = getCookie(c, cookieOf(deps));
  const session = token === undefined ? null : await readSession(deps, token);
  if (!session) return null;
  const caller = await callerOfSession(deps, session.lookupId);
  return caller && { session, caller };
}

export const isRefresh = (c: Context): boolean => c.req.header(refreshHeader) !== undefined;

export async function renewSession(c: Context, deps: SessionDeps, session: Session): Promise<void> {
  if (!isRefresh(c) && nowSeconds() - session.renewedAt >= renewAfterSeconds) await setSession(c, deps, session);
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
  setCookie(c, cookieOf(deps), token, { ...placeOf(deps), httpOnly: true, sameSite: 'Strict', maxAge: ttlSeconds });
}

const placeOf = (deps: SessionDeps) => {
  const secure = isSecure(deps);
  return { path: secure ? '/' : '/console', secure };
};

const isSecure = ({ publicUrl }: SessionDeps): boolean => publicUrl.startsWith('https:');
