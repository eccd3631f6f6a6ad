import { AppError } from '../../errors.ts';
import type { HttpResponse } from '../../model/http.ts';
import type { PagePosition } from '../../model/read-position.ts';
import { tryDecodeBody } from '../decode/decode-body.ts';
import type { Source } from '../source.ts';
import { matchRule, type Outcome, ruleFailure } from './error-rules.ts';
import type { Evaluate } from './evaluate.ts';
import type { NoResponseError } from './no-response.ts';

/** The meaning of a response for the requested page. */
export type Verdict =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'empty'; readonly notModified: boolean }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'expired'; readonly what: 'page' | 'watermark' };

type NoPage = Exclude<Verdict, { readonly kind: 'accepted' }>;

/** The page a response belongs to. */
interface AskedPage {
  readonly position: PagePosition;
  readonly startsFromToken: boolean;
}

/**
 * Checks a response that the client has passed: expired tokens first, then the rules of the resource and of the spec,
 * then the status. Throws `source_rejected` or `auth_failed` for everything that is no page.
 */
export async function interpretResponse(
  source: Source,
  response: HttpResponse,
  options: { readonly page: AskedPage; readonly evaluate: Evaluate },
): Promise<Verdict> {
  const { resource, http, params } = source;
  const { page, evaluate } = options;
  const outcome = outcomeOf(response, source);
  const expired = await expiredToken(source, outcome, options);
  if (expired) return expired;
  const rule = await matchRule([...resource.errors, ...http.errors], outcome, { evaluate, params });
  if (rule?.action === 'skip_partition')
    return { kind: 'skipped', reason: rule.message ?? `status ${response.status}` };
  if (rule?.action === 'empty') return emptyPage(page, `responded with ${response.status}`);
  if (rule) throw ruleFailure(rule, outcome);
  if (response.status === 304) return notModified(page);
  if (response.status >= 200 && response.status < 300) return { kind: 'accepted' };
  throw new AppError(
    'source_rejected',
    `The API responded with ${response.status}. Correct the request or add an error rule.`,
  );
}

/** The meaning of a request without a response for its page, if a rule says so. Throws `source_rejected` as above. */
export const classifyNoResponse = ({ action, reason }: NoResponseError, page: Pick<AskedPage, 'position'>): NoPage =>
  action === 'skip_partition' ? { kind: 'skipped', reason } : emptyPage(page, `sent no response (${reason})`);

/** A response as error rules see it; the body is decoded only when a rule reads it. */
export function outcomeOf(
  response: HttpResponse,
  source: Pick<Source, 'resource' | 'http'>,
): Outcome & { kind: 'response' } {
  return {
    kind: 'response',
    status: response.status,
    headers: response.headers,
    body: () => tryDecodeBody(response, source),
  };
}

/** Whether the spec declares the status for an expired token: the client must pass it. */
export function isExpiryStatus(resource: Source['resource'], status: number): boolean {
  const { pagination, incremental } = resource;
  const ofToken = incremental?.kind === 'token' && incremental.expired.status.includes(status);
  return ofToken || (pagination.onExpired?.status.includes(status) ?? false);
}

async function expiredToken(
  source: Source,
  outcome: Outcome & { kind: 'response' },
  options: { readonly page: AskedPage; readonly evaluate: Evaluate },
): Promise<Verdict | null> {
  const { position, startsFromToken } = options.page;
  const { pagination, incremental } = source.resource;
  if (position.index > 1 && pagination.onExpired?.status.includes(outcome.status)) {
    if (pagination.onExpired.action === 'restart_window') return { kind: 'expired', what: 'page' };
    throw new AppError(
      'source_rejected',
      'The page token has expired. Set pagination.onExpired to restart the window.',
    );
  }
  if (incremental?.kind !== 'token' || !startsFromToken || position.index > 1) return null;
  const { status, expr, action } = incremental.expired;
  const rule = { when: { status, ...(expr === undefined ? {} : { expr }) }, action: 'fail' as const };
  if (!(await matchRule([rule], outcome, { evaluate: options.evaluate, params: source.params }))) return null;
  if (action === 'full') return { kind: 'expired', what: 'watermark' };
  throw new AppError(
    'source_rejected',
    'The API no longer knows the stored token. Reset the watermark to read in full.',
  );
}

/** An error page in the middle of a read is never its end: the pages after it would be lost silently. */
function emptyPage({ position }: Pick<AskedPage, 'position'>, did: string): NoPage {
  if (position.index === 1) return { kind: 'empty', notModified: false };
  const message = `The API ${did} on page ${position.index}: the action "empty" is valid on the first page only.`;
  throw new AppError('source_rejected', message);
}

function notModified(page: AskedPage): Verdict {
  if (page.position.index === 1) return { kind: 'empty', notModified: true };
  throw new AppError(
    'source_rejected',
    `The API responded with 304 on page ${page.position.index}, although the request had no condition.`,
  );
}
