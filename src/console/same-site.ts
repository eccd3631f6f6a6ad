import { isSameText } from '../core/crypto/same-text.ts';
import { AppError } from '../core/errors.ts';
import type { Session } from './session.ts';

/**
 * Refuses a form that a page of another site sends. Three checks stand in the way of one, each enough by itself: the cookie
 * is `SameSite=Strict`, browsers name the origin of a page that posts, and the form carries a value of the session.
 * Throws `unauthorized`.
 */
export function requireOwnOrigin(headers: Headers, { url, publicUrl }: { url: string; publicUrl: string }): void {
  const origin = headers.get('origin');
  // Behind a proxy, the host of the request may be another one than the browser sees.
  const own = [new URL(url).host, new URL(publicUrl).host];
  if (origin === null || !URL.canParse(origin) || !own.includes(new URL(origin).host)) throw foreign();
}

/** Requires the value of the session that the form carries, as {@link requireOwnOrigin} requires the origin. */
export function requireFormToken({ formToken }: Session, given: unknown): void {
  if (typeof given !== 'string' || !isSameText(given, formToken)) throw foreign();
}

const foreign = (): AppError =>
  new AppError('unauthorized', 'This form does not come from your session: open the page again, then send it.');
