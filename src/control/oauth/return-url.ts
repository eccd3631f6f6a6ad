import { conflict, invalid, schemaIssue } from '../../core/errors.ts';
import type { AuthorizationSettings } from '../../core/resources/authorization-settings.ts';

const lengthMax = 2000;

/** True for an origin that an org may allow: https, or http on the customer's own machine. */
export function isReturnOrigin(text: string): boolean {
  if (!URL.canParse(text) || text.includes('*')) return false;
  const url = new URL(text);
  return isSecure(url) && url.href === `${url.origin}/`;
}

/** Throws validation with the reason. */
export function checkReturnUrl(text: string, settings: AuthorizationSettings): string {
  const issue = issueOf(text, settings);
  if (issue === null) return new URL(text).href;
  throw invalid('The return URL is not valid.', [schemaIssue('returnUrl', issue)]);
}

/** The org may have changed its origins since the authorization began; throws conflict. */
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

export type ReturnParameter = { readonly code: string } | { readonly error: string };

export function returnAddress(returnUrl: string, parameter: ReturnParameter): string {
  const url = new URL(returnUrl);
  for (const name of ['code', 'error']) url.searchParams.delete(name);
  for (const [name, value] of Object.entries(parameter)) url.searchParams.set(name, value);
  return url.href;
}

/** Error codes of a provider (RFC 6749 4.1.2.1, OpenID Connect Core 3.1.2.6). */
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

/** Passes on known error codes only, since the text comes from a browser. */
export const shownProviderError = (error: string): string => (providerErrors.has(error) ? error : 'provider_error');
