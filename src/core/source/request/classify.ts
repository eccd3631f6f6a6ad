import { classifyByStatus } from '../../http/retry.ts';
import type { Classify, NoResponse } from '../../model/http.ts';
import { type Verdict } from '../../model/http.ts';
import { isRefreshable } from '../auth/request-signer.ts';
import type { Source } from '../source.ts';
import { matchRule, ruleFailure, waitOf } from './error-rules.ts';
import type { Evaluate } from './evaluate.ts';
import { isExpiryStatus, outcomeOf } from './interpret-response.ts';
import { NoResponseError } from './no-response.ts';

/**
 * The `classify` hook of the HTTP client for one resource: its own error rules, those of `http`, then the defaults of
 * the format. Responses with a meaning for the reader (empty, skip_partition, expired tokens) pass; if there is no such
 * response, a {@link NoResponseError} says so. Rejected credentials are refreshed once if the auth kind can; with other
 * kinds they fail the read.
 */
export function createClassify(
  source: Pick<Source, 'resource' | 'http' | 'params' | 'auth' | 'now'>,
  evaluate: Evaluate,
): Classify {
  const { resource, http, params } = source;
  const rules = [...resource.errors, ...http.errors];
  const refreshFirst = (verdict: Verdict): Verdict =>
    verdict.action === 'fail' && isRefreshable(source) ? { ...verdict, action: 'refresh' } : verdict;
  const classifyFailure = async ({ failure }: NoResponse): Promise<Verdict> => {
    const outcome = { kind: failure };
    const rule = await matchRule(rules, outcome, { evaluate, params });
    switch (rule?.action) {
      case undefined:
      case 'retry':
        return { action: 'retry' };
      case 'rate_limited':
        return { action: 'rate_limited' };
      case 'empty':
      case 'skip_partition':
        return { action: 'fail', error: new NoResponseError(rule.action, rule.message ?? failure) };
      case 'refresh_auth':
        return refreshFirst({ action: 'fail', error: ruleFailure(rule, outcome) });
      case 'fail':
        return { action: 'fail', error: ruleFailure(rule, outcome) };
    }
  };
  return async (response, request) => {
    if (response.status === null) return classifyFailure(response);
    if (isExpiryStatus(resource, response.status)) return { action: 'accept' };
    const outcome = outcomeOf(response, source);
    const rule = await matchRule(rules, outcome, { evaluate, params });
    if (rule === null) {
      const verdict = classifyByStatus(response, request, `${request.method} ${request.url.pathname}`);
      return response.status === 401 ? refreshFirst(verdict) : verdict;
    }
    switch (rule.action) {
      case 'retry':
        return { action: 'retry' };
      case 'rate_limited': {
        const waitMs = waitOf(rule, response.headers, source.now());
        return waitMs === null ? { action: 'rate_limited' } : { action: 'rate_limited', waitMs };
      }
      case 'empty':
      case 'skip_partition':
        return { action: 'accept' };
      case 'refresh_auth':
        return refreshFirst({ action: 'fail', error: ruleFailure(rule, outcome) });
      case 'fail':
        return { action: 'fail', error: ruleFailure(rule, outcome) };
    }
  };
}
