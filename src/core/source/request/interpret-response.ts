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

/** The page that a request asks for. */
interface RequestedPage {
  /** The number of the page in its window, from 1. */
  readonly index: number;
  /** Whether the request carries the stored token of a token read. */
  readonly startsFromToken: boolean;
  /** The rule by which it may become smaller; null or absent: it may not. */
  readonly shrink?: Shrink | null;
  /** Whether it is requested only to see that there is none. */
  readonly isProbe?: boolean;
}

interface InterpretOptions {
  readonly evaluate: Evaluate;
  readonly page: RequestedPage;
}

type InterpretedSource = Pick<Source, 'resource' | 'http' | 'decodeTurns' | 'params' | 'auth' | 'now'>;

/**
 * Says what a response means for the page that was requested. Expired tokens come first, then pages that are too large,
 * the error rules of the resource, those of `http`, and the defaults for a status. Nothing else decides that: the HTTP
 * client follows the action, the reader the meaning. Rejected credentials are refreshed once if the auth kind can do
 * that; otherwise they fail the read. A request without a response that a rule counts as empty or skipped fails with a
 * {@link NoResponseError}.
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

/** The statuses with which APIs refuse a page behind the last one, and those that can mean something else. */
const noSuchPage: readonly number[] = [400, 404, 410, 416, 422];
const unclear: readonly number[] = [400, 422];

/** Whether `pagination.shrink` asks for a smaller page after this outcome, and the page may become smaller. */
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

/** A response as error rules see it; the body is decoded only when a rule reads it. */
function outcomeOf(
  response: HttpResponse | NoResponse,
  source: Pick<Source, 'resource' | 'http' | 'decodeTurns'>,
): RequestOutcome {
  if (response.status === null) return { kind: response.failure };
  const { status, headers } = response;
  return { kind: 'response', status, headers, body: () => tryDecodeBody(response, source) };
}

/**
 * The verdict on a token that the API no longer knows; null: none is in the request, or the response does not say so.
 */
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
