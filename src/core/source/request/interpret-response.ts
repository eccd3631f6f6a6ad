import { AppError } from '../../errors.ts';
import { classifyByStatus } from '../../http/retry.ts';
import type { Classify, HttpResponse, Meaning, NoResponse, Verdict } from '../../model/http.ts';
import type { ErrorRule } from '../../spec/schema/http-schema.ts';
import type { Shrink } from '../../spec/schema/pagination-schema.ts';
import { isRefreshable } from '../auth/request-signer.ts';
import { tryDecodeBody } from '../decode/decode-body.ts';
import type { Source } from '../source.ts';
import { matchRule, type RequestOutcome, ruleFailure, waitOf } from './error-rules.ts';
import type { Evaluate } from './evaluate.ts';
import { NoResponseError } from './no-response.ts';

interface RequestedPage {
  readonly index: number;
  readonly startsFromToken: boolean;
  readonly shrink?: Shrink | null;
  /** Whether it is requested only to see that it does not exist. */
  readonly isProbe?: boolean;
}

interface InterpretOptions {
  readonly evaluate: Evaluate;
  readonly page: RequestedPage;
}

type InterpretedSource = Pick<Source, 'resource' | 'http' | 'decodeTurns' | 'params' | 'auth' | 'now'>;

/**
 * Checks expired tokens first, then probes, pages that are too large, the error rules of the resource, those of `http`,
 * and the defaults for a status. The HTTP client follows the action, the reader the meaning. Rejected credentials are
 * refreshed once if the auth kind can do that. A request without a response that still means something for the page
 * fails with a {@link NoResponseError}.
 */
export function interpretResponse(source: InterpretedSource, { evaluate, page }: InterpretOptions): Classify {
  const { resource, http, params } = source;
  const rules = [...resource.errors, ...http.errors];
  return async (response, request) => {
    const outcome = outcomeOf(response, source);
    if (outcome.kind === 'response') {
      const expired = await expiredToken(source, outcome, { evaluate, page });
      if (expired) return expired;
      if (page.isProbe && noSuchPage.includes(outcome.status)) {
        return accept({ kind: 'past_end', isCertain: !unclear.includes(outcome.status) });
      }
    }
    if (await isTooLarge(outcome, { evaluate, page, params })) return tooLarge(outcome);
    const rule = await matchRule(rules, outcome, { evaluate, params });
    if (rule) return byRule(rule, source, outcome);
    if (response.status === null) return { action: 'retry' };
    if (response.status === 304) return accept({ kind: 'empty', notModified: true });
    const verdict = classifyByStatus(response, request, `${request.method} ${request.url.pathname}`);
    return response.status === 401 ? refreshFirst(source, verdict) : verdict;
  };
}

/** Statuses that refuse a page past the last one, and those that can mean something else. */
const noSuchPage: readonly number[] = [400, 404, 410, 416, 422];
const unclear: readonly number[] = [400, 422];

async function isTooLarge(
  outcome: RequestOutcome,
  { evaluate, page, params }: InterpretOptions & Pick<Source, 'params'>,
): Promise<boolean> {
  if (!page.shrink) return false;
  return (await matchRule([{ when: page.shrink.when, action: 'fail' }], outcome, { evaluate, params })) !== null;
}

function tooLarge(outcome: RequestOutcome): Verdict {
  const meaning: Meaning = { kind: 'too_large' };
  if (outcome.kind === 'response') return accept(meaning);
  return { action: 'fail', error: new NoResponseError(meaning, outcome.kind) };
}

function byRule(rule: ErrorRule, source: InterpretedSource, outcome: RequestOutcome): Verdict {
  switch (rule.action) {
    case 'retry':
      return { action: 'retry' };
    case 'rate_limited': {
      const waitMs = outcome.kind === 'response' ? waitOf(rule, outcome.headers, source.now()) : null;
      return waitMs === null ? { action: 'rate_limited' } : { action: 'rate_limited', waitMs };
    }
    case 'empty':
    case 'skip_partition':
      return nothingToRead(rule.action, rule, outcome);
    case 'refresh_auth':
      return refreshFirst(source, { action: 'fail', error: ruleFailure(rule, outcome) });
    case 'fail':
      return { action: 'fail', error: ruleFailure(rule, outcome) };
  }
}

function nothingToRead(action: 'empty' | 'skip_partition', { message }: ErrorRule, outcome: RequestOutcome): Verdict {
  const reason = message ?? (outcome.kind === 'response' ? `status ${outcome.status}` : outcome.kind);
  const meaning: Meaning = action === 'empty' ? { kind: 'empty', notModified: false } : { kind: 'skipped', reason };
  if (outcome.kind === 'response') return accept(meaning);
  return { action: 'fail', error: new NoResponseError(meaning, reason) };
}

const accept = (meaning: Meaning): Verdict => ({ action: 'accept', meaning });

const refreshFirst = (source: Pick<Source, 'auth'>, verdict: Verdict): Verdict =>
  verdict.action === 'fail' && isRefreshable(source) ? { ...verdict, action: 'refresh' } : verdict;

/** Decodes the body only when a rule reads it. */
function outcomeOf(
  response: HttpResponse | NoResponse,
  source: Pick<Source, 'resource' | 'http' | 'decodeTurns'>,
): RequestOutcome {
  if (response.status === null) return { kind: response.failure };
  const { status, headers } = response;
  return { kind: 'response', status, headers, body: () => tryDecodeBody(response, source) };
}

/** `null` without a token in the request, or if the API still knows it. */
async function expiredToken(
  { resource, params }: InterpretedSource,
  outcome: RequestOutcome & { readonly kind: 'response' },
  { evaluate, page }: InterpretOptions,
): Promise<Verdict | null> {
  const { pagination, incremental } = resource;
  if (page.index > 1) {
    if (!pagination.onExpired?.status.includes(outcome.status)) return null;
    if (pagination.onExpired.action === 'restart_window') return accept({ kind: 'expired', what: 'page' });
    return rejected('The page token has expired. Set pagination.onExpired to restart the window.');
  }
  if (incremental?.kind !== 'token' || !page.startsFromToken) return null;
  const { status, expr, action } = incremental.expired;
  const rule = { when: { status, ...(expr === undefined ? {} : { expr }) }, action: 'fail' as const };
  if (!(await matchRule([rule], outcome, { evaluate, params }))) return null;
  if (action === 'full') return accept({ kind: 'expired', what: 'watermark' });
  return rejected(
    'The API rejected the stored token as expired. Set incremental.expired.action to "full" to read everything again.',
  );
}

const rejected = (message: string): Verdict => ({ action: 'fail', error: new AppError('source_rejected', message) });
