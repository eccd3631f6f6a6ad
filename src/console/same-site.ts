import { isSameText } from '../core/crypto/same-text.ts';
import { AppError } from '../core/errors.ts';
import type { Session } from './session.ts';

/**
 * Three checks each suffice against forms of other sites: the `SameSite=Strict` cookie, the `Origin` that browsers
 * send, and the session's form token. Throws `unauthorized`.
 */
export function requireOwnOrigin(headers: Headers, { url, publicUrl }: { url: string; publicUrl: string }): void {
  const origin = headers.get('origin');
  // Behind a proxy, the browser may see another host than the request has.
  const own = [new URL(url).host, new URL(publicUrl).host];
  if (origin === null || !URL.canParse(origin) || !own.includes(new URL(origin).host)) throw foreign();
}

/** Throws `unauthorized`. */
export function requireFormToken({ formToken }: Session, given: unknown): void {
  if (typeof given !== 'string' || !isSameText(given, formToken)) throw foreign();
}

const foreign = (): AppError =>
  new AppError('unauthorized', 'This form does not come from your session: open the page again, then send it.');
