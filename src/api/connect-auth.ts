import { findConnectCredential } from '../../db/queries/connect-sessions/sessions.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import { isConnectSecret, sessionOfToken } from '../core/crypto/connect-token.ts';
import { AppError } from '../core/errors.ts';
import type { Deps } from '../deps.ts';

/** Header of the token of a connect session. Not the query, which ends up in logs, and not a cookie, which others send along. */
export const connectTokenHeader = 'x-service-connect-token';

/** Holds the secret of a browser while its customer is at a provider. With the prefix no other host of the domain can set it. */
const nameOf = (deps: CookieDeps): string => `${isSecure(deps) ? '__Host-' : ''}connect_browser`;

type CookieDeps = Pick<Deps, 'publicUrl'>;

const isSecure = ({ publicUrl }: CookieDeps): boolean => publicUrl.startsWith('https:');

export interface ConnectCaller {
  readonly scope: OrgScope;
  readonly sessionId: string;
}

/** Also of a session that has ended, so that its page can say so. Throws `unauthorized` with one text for every reason. */
export async function authenticateConnect({ db }: Pick<Deps, 'db'>, headers: Headers): Promise<ConnectCaller> {
  const token = headers.get(connectTokenHeader);
  const sessionId = token === null ? null : sessionOfToken(token);
  const credential = sessionId === null ? undefined : await findConnectCredential(db, sessionId);
  if (token !== null && sessionId !== null && credential && isConnectSecret(token, credential.tokenHash)) {
    return { scope: orgScope(credential.orgId), sessionId };
  }
  throw new AppError(
    'unauthorized',
    `A valid token of a connect session is required in the header ${connectTokenHeader}: let your server make one with POST /api/v1/connect-sessions.`,
  );
}

/** `null` unless the browser has begun a consent here. */
export function browserOf(headers: Headers, deps: CookieDeps): string | null {
  const form = new RegExp(`(?:^|;\\s*)${nameOf(deps)}=(?<value>[\\w-]{43})(?:;|$)`);
  return form.exec(headers.get('cookie') ?? '')?.groups?.['value'] ?? null;
}

/** For the time that a state is good for; `Lax`, as the provider sends the browser back from another site. */
export const cookieOf = (browser: string, deps: CookieDeps): string =>
  [
    `${nameOf(deps)}=${browser}`,
    `Path=${isSecure(deps) ? '/' : '/api/v1'}`,
    'Max-Age=600',
    'HttpOnly',
    'SameSite=Lax',
    ...(isSecure(deps) ? ['Secure'] : []),
  ].join('; ');
