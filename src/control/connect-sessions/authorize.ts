/** The consent at a provider: session, browser and state are one. */
import { findConnectSession } from '../../../db/queries/connect-sessions/sessions.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { tokenSlot } from '../../connect/token-store.ts';
import { hashConnectSecret, makeConnectSecret } from '../../core/crypto/connect-token.ts';
import { AppError, conflict } from '../../core/errors.ts';
import type { Deps } from '../../deps.ts';
import type { CandidateValues } from '../connections/values.ts';
import type { GrantDeps } from '../oauth/grant.ts';
import { beginAuthorization, type ForSession } from '../oauth/oauth.ts';
import { changeHeld } from './enter-values.ts';
import { keepProblem, openSession, orProblem, requireOpen, type SessionKey } from './open-session.ts';
import { standOf } from './view.ts';

export interface BegunConsent {
  readonly authorizeUrl: string;
  /** Of the browser that began, in a cookie. */
  readonly browser: string;
}

/** Begins the next consent that is missing, or the first one anew. Throws conflict, not_found. */
export async function beginConsent(
  deps: GrantDeps & Pick<Deps, 'oauth'>,
  key: SessionKey,
  given: string | null,
): Promise<BegunConsent> {
  const { scope, sessionId } = key;
  const opened = await openSession(deps, key);
  const { session, connection, values } = opened;
  requireOpen(session);
  const { step, consents } = await standOf(deps, scope, opened);
  if (!connection || step === 'values') throw conflict('Enter the values first, then go on to the provider.');
  const [resourceKey = null] = consents.missing;
  if (consents.needed === 0) throw conflict('There is nothing to authorize at a provider: go on to the test.');
  const browser = given ?? makeConnectSecret();
  const { authorizeUrl } = await orProblem(deps, scope, session, () =>
    beginAuthorization(deps, scope, {
      connectionId: connection.id,
      resourceKey,
      newAccount: session.newAccount || session.specId !== null,
      returnUrl: null,
      session: { id: sessionId, browserHash: hashConnectSecret(browser) },
      candidate: values,
    }),
  );
  // What failed before is over; the page waits for what is new.
  await keepProblem(deps, scope, { ...session, problem: null });
  return { authorizeUrl, browser };
}

/** What the customer has entered and the connection does not have yet. */
export async function candidateOf(
  deps: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  sessionId: string,
): Promise<CandidateValues | undefined> {
  try {
    const { values } = await openSession(deps, { scope, sessionId });
    return values;
  } catch (error) {
    // The connection was deleted meanwhile; what follows says so.
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/**
 * Keeps what came back for the session; returns the address of its page. After a consent it has the proof of this browser,
 * behind `#`: whoever else has the token cannot finish with the account of its person.
 */
export async function endConsent(
  deps: Pick<Deps, 'db' | 'secretBox' | 'publicUrl'>,
  { scope, sessionId, resourceKey, outcome }: ForSession,
): Promise<string> {
  const page = `${pageOf(deps, sessionId)}?back`;
  const session = await findConnectSession(deps.db, scope, sessionId);
  if (session?.state !== 'open') return page;
  if ('code' in outcome) {
    const slot = tokenSlot(resourceKey);
    const proof = makeConnectSecret();
    await changeHeld(deps, scope, sessionId, (held) => ({
      ...held,
      codes: { ...held.codes, [slot]: outcome.code },
      proofs: { ...held.proofs, [slot]: hashConnectSecret(proof).toString('base64url') },
    }));
    return `${page}#proof=${proof}`;
  }
  const { error: code } = outcome;
  await keepProblem(deps, scope, { ...session, problem: { code, message: messageOf(code) } });
  // The page that somebody else sees knows no token, and learns the reason here.
  return code === 'other_browser' ? `${page}=other_browser` : page;
}

export const pageOf = ({ publicUrl }: Pick<Deps, 'publicUrl'>, sessionId: string): string =>
  `${publicUrl}/connect/${sessionId}`;

const messageOf = (code: string): string =>
  messages[code] ?? `The provider or the spec refused the consent (${code}). The log of the API says more.`;

const messages: Readonly<Record<string, string>> = {
  access_denied: 'The customer declined at the provider, or may not consent there.',
  other_account: 'The customer signed in to another account than before. Allow it with `newAccount`, if it is meant.',
  other_browser: 'Another browser came back than the one that began, so nothing was stored.',
};
