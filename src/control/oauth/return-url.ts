/** Where a customer may be sent to after an authorization: to pages of the org that began it, and nowhere else. */
import { conflict, invalid, schemaIssue } from '../../core/errors.ts';
import type { AuthorizationSettings } from '../../core/resources/authorization-settings.ts';

const lengthMax = 2000;

/** Whether a text is an origin that an org may allow: of https, or of http on the machine of the customer. */
export function isReturnOrigin(text: string): boolean {
  if (!URL.canParse(text) || text.includes('*')) return false;
  const url = new URL(text);
  return isSecure(url) && url.href === `${url.origin}/`;
}

/** The return URL in its canonical form. Throws validation, which says what is wrong with it. */
export function checkReturnUrl(text: string, settings: AuthorizationSettings): string {
  const issue = issueOf(text, settings);
  if (issue === null) return new URL(text).href;
  throw invalid('The return URL is not valid.', [schemaIssue('returnUrl', issue)]);
}

/** The same at the end of the authorization: the org may have changed its origins meanwhile. Throws conflict. */
export function recheckReturnUrl(returnUrl: string, settings: AuthorizationSettings): void {
  if (issueOf(returnUrl, settings) === null) return;
  throw conflict(
    'The org does not allow the return URL any more, so nothing was changed. Start the authorization again.',
  );
}

function issueOf(text: string, { returnOrigins }: AuthorizationSettings): string | null {
  if (text.length > lengthMax) return `has more than ${lengthMax} characters`;
  if (!URL.canParse(text)) return 'expected an absolute URL';
  const url = new URL(text);
  if (!isSecure(url)) return 'expected https, or http on a loopback address';
  if (url.username !== '' || url.password !== '') return 'must not have a user name or a password';
  if (text.includes('#')) return 'must not have a fragment';
  if (!returnOrigins.includes(url.origin)) {
    return 'has an origin that the org does not allow: add it to returnOrigins by PATCH /api/v1/oauth/settings';
  }
  return null;
}

const isSecure = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);

/** What the page of the org gets to know: the code to confirm the grant with, or why there is no grant. */
export type ReturnParameter = { readonly code: string } | { readonly error: string };

/** The address that the browser is sent to. */
export function returnAddress(returnUrl: string, parameter: ReturnParameter): string {
  const url = new URL(returnUrl);
  for (const name of ['code', 'error']) url.searchParams.delete(name);
  for (const [name, value] of Object.entries(parameter)) url.searchParams.set(name, value);
  return url.href;
}

/** The codes with which a provider refuses (RFC 6749 4.1.2.1, OpenID Connect Core 3.1.2.6). */
const providerErrors: ReadonlySet<string> = new Set([
  'invalid_request',
  'unauthorized_client',
  'access_denied',
  'unsupported_response_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
]);

/** What may be passed on of the error of a provider: a code that is known, since the text comes from a browser. */
export const shownProviderError = (error: string): string => (providerErrors.has(error) ? error : 'provider_error');
