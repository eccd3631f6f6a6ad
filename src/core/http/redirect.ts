import type { HttpRequest, HttpResponse } from '../model/http.ts';
import type { BlockReason } from './egress-blocked.ts';
import type { Hop } from './exchange.ts';
import { isDowngrade, isReachable } from './origin.ts';
import { limitUrl } from './url-limit.ts';

/** `rejection` is `null` for a hop to follow. */
export interface NextHop {
  readonly hop: Hop;
  readonly rejection: BlockReason | null;
}

/** Per attempt. */
const redirectsMax = 3;

/**
 * `null` without a redirect. Another origin sees `accept` and `user-agent` only, so no credential and no body ever leaves its
 * intended origin. Throws `source_rejected` when the address is too long.
 */
export function nextHop(
  hop: Hop,
  response: HttpResponse,
  context: { request: HttpRequest; followed: number },
): NextHop | null {
  const location = response.headers['location'];
  if (location === undefined || ![301, 302, 303, 307, 308].includes(response.status)) return null;
  limitUrl(location);
  if (!URL.canParse(location, hop.url.href)) return { hop, rejection: 'redirect' };
  const url = new URL(location, hop.url);
  url.hash = '';
  const away = url.origin !== hop.url.origin;
  const keepsBody = hop.method === 'GET' || response.status === 307 || response.status === 308;
  const next: Hop = {
    method: keepsBody ? hop.method : 'GET',
    url,
    headers: away ? pick(hop.headers, ['accept', 'user-agent']) : keepsBody ? hop.headers : withoutContent(hop.headers),
    body: keepsBody ? hop.body : undefined,
  };
  return { hop: next, rejection: rejectionOf(hop, next, context) };
}

function rejectionOf(
  from: Hop,
  to: Hop,
  { request, followed }: { request: HttpRequest; followed: number },
): BlockReason | null {
  if (followed >= redirectsMax) return 'redirect_limit';
  if (isDowngrade(from.url, to.url)) return 'redirect_downgrade';
  if (to.url.origin !== from.url.origin && to.body !== undefined) return 'redirect_body';
  return isReachable(to.url, request.url, request.allowedHosts) ? null : 'redirect';
}

const withoutContent = (headers: Hop['headers']): Hop['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('content-')));

const pick = (headers: Hop['headers'], names: readonly string[]): Hop['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => names.includes(name)));
