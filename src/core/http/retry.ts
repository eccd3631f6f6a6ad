import { AppError } from '../errors.ts';
import type { HttpRequest, HttpResponse, Verdict } from '../model/http.ts';

/** `http.retry` of a spec. */
export interface RetryPolicy {
  /** Includes the first attempt; fewer are made when they take long (next-wait.ts). */
  readonly maxAttempts: number;
  readonly baseMs: number;
  /** The client waits at most 10 s of it before an attempt. */
  readonly maxMs: number;
  /** Above it the run fails. */
  readonly maxWaitSeconds: number;
}

/** Milliseconds: full jitter over a doubling window; `attempt` counts from 1. */
export const backoffMs = (policy: RetryPolicy, attempt: number, random: () => number): number =>
  Math.floor(random() * Math.min(policy.maxMs, policy.baseMs * 2 ** (attempt - 1)));

/**
 * Milliseconds, 0 when the date has passed. `null` when absent or in neither form of RFC 9110 10.2.3 (seconds, HTTP date in any
 * of its three spellings).
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(text)) return null;
  const date = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}

/** The error defaults of the spec format: 2xx and 304 accepted, 408, 425, 429 and 5xx retried, all else fails. */
export function classifyByStatus(response: HttpResponse, request: HttpRequest, where: string): Verdict {
  const { status } = response;
  if ((status >= 200 && status < 300) || status === 304) return { action: 'accept' };
  if (status === 429) return { action: 'rate_limited' };
  if (status === 408 || status === 425 || status >= 500) return { action: 'retry' };
  return { action: 'fail', error: rejected(status, request, where) };
}

function rejected(status: number, request: HttpRequest, where: string): AppError {
  const said = `${where} responded with ${status}`;
  if (status === 401)
    return new AppError('auth_failed', `${said}: check the connection's credentials and authorize it again.`);
  const advice = adviceFor(status, request.method);
  return new AppError('source_rejected', `${said}: ${advice}`);
}

function adviceFor(status: number, method: string): string {
  if (status === 403) return 'the credentials lack the permission; grant it at the source.';
  if (status === 404 || status === 410) return 'check the path and the parameters of the connection.';
  if (status === 405) return `the source does not accept ${method} there; change the method in the spec.`;
  if (status >= 300 && status < 400) return 'the redirect was not followed; put its target into the spec.';
  return 'correct the request in the spec, or add a rule for this status under errors.';
}
