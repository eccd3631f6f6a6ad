import { AppError } from '../errors.ts';
import { BlockedUrlError, egressBlocked } from './egress-blocked.ts';
import { limitUrl } from './url-limit.ts';

/**
 * Credentials travel with a link of a response (next page, file). So it must stay on the origin of `base` or lead to a host of
 * `allowedHosts`, and never from https to http. Throws `egress_blocked`, `source_rejected` (too long).
 */
export function resolveLink(
  link: string,
  current: URL,
  limits: { readonly base: URL; readonly allowedHosts: readonly string[] },
): URL {
  limitUrl(link);
  if (!URL.canParse(link, current.href)) throw egressBlocked('link');
  const url = new URL(link, current);
  if (url.username !== '' || url.password !== '') throw new BlockedUrlError('userinfo', url);
  if (!isReachable(url, limits.base, limits.allowedHosts)) throw new BlockedUrlError('link', url);
  return url;
}

/** True on the origin of `base`, or on an allowed host over a scheme that is at least as strong. */
export const isReachable = (url: URL, base: URL, allowedHosts: readonly string[]): boolean =>
  (url.origin === base.origin && url.origin !== 'null') ||
  (!isDowngrade(base, url) && allowedHosts.some((pattern) => hostMatches(url, pattern)));

export const isDowngrade = (from: URL, to: URL): boolean => from.protocol === 'https:' && to.protocol !== 'https:';

/**
 * Throws `spec_invalid` for an empty value and for `.` and `..`, which encoding leaves alone and URL parsing would turn into
 * another path.
 */
export function pathSegment(value: string): string {
  if (value === '')
    throw new AppError('spec_invalid', 'A path value is empty: every placeholder of a path needs a value.');
  if (value === '.' || value === '..') {
    throw new AppError('spec_invalid', 'A path value is "." or "..", which would lead to another path.');
  }
  return encodeURIComponent(value.toWellFormed());
}

/** `/` keeps its meaning, each segment is a {@link pathSegment}. */
export const pathSegments = (value: string): string => value.split('/').map(pathSegment).join('/');

/** Throws `spec_invalid` when the value could move the request to another host. */
export function hostLabel(value: string): string {
  if (/^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(value)) return value;
  throw new AppError(
    'spec_invalid',
    'A host value must be 1 to 63 letters, digits or inner hyphens, such as "acme-eu1".',
  );
}

/** Throws `spec_invalid` unless the expanded URL still ends in the fixed host suffix of its template. */
export function checkHostSuffix(url: URL, suffix: string): void {
  if (url.hostname.endsWith(suffix.toLowerCase())) return;
  throw new AppError('spec_invalid', 'The values of the connection change the fixed part of the host in the URL.');
}

/** `host`, `*.host` (any depth below, not the host itself), each with an optional `:port`; else the default port. */
function hostMatches(url: URL, pattern: string): boolean {
  const [, host = '', port = ''] = /^(.*?)(?::(\d+))?$/.exec(pattern.toLowerCase()) ?? [];
  if (url.port !== port) return false;
  return host.startsWith('*.') ? url.hostname.endsWith(host.slice(1)) : url.hostname === host;
}
