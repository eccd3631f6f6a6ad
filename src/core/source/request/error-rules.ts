import { AppError } from '../../errors.ts';
import { CostlyExpressionError } from '../../expressions/costly-expression.ts';
import type { ErrorRule, WaitFormat } from '../../spec/schema/http-schema.ts';
import type { Evaluate } from './evaluate.ts';

export type RequestOutcome =
  | {
      readonly kind: 'response';
      readonly status: number;
      /** Names are in lower case. */
      readonly headers: Readonly<Record<string, string>>;
      /** As the resource's decoder reads it, or `undefined` if it cannot. */
      readonly body: () => Promise<unknown>;
    }
  | { readonly kind: 'network' | 'timeout' };

/** Outcomes for which an expression costs too much. */
const costly = new WeakSet<RequestOutcome>();

/**
 * Expressions see `body`, `headers`, `status` and `params`, and count as not true if they fail on an unexpected body.
 * After one that costs too much, so do the others of the same outcome.
 */
export async function matchRule(
  rules: readonly ErrorRule[],
  outcome: RequestOutcome,
  options: { readonly evaluate: Evaluate; readonly params: Readonly<Record<string, unknown>> },
): Promise<ErrorRule | null> {
  for (const rule of rules) {
    if (!statusHolds(rule, outcome)) continue;
    if (rule.when.expr === undefined) return rule;
    if (outcome.kind === 'response' && (await exprHolds(rule.when.expr, outcome, options))) return rule;
  }
  return null;
}

/** Milliseconds to wait by the rule's header, never negative, or `null` if the response does not say. */
export const waitOf = (rule: ErrorRule, headers: Readonly<Record<string, string>>, now: Date): number | null =>
  rule.waitFrom === undefined ? null : waitIn(headers[rule.waitFrom.header.toLowerCase()], rule.waitFrom.format, now);

/** Milliseconds from `now`, never negative, or `null` if the header is missing or unreadable. */
export function waitIn(header: string | undefined, format: WaitFormat, now: Date): number | null {
  const text = header?.trim() ?? '';
  const wait = text === '' ? Number.NaN : waitsByFormat[format](text, now.getTime());
  return Number.isFinite(wait) ? Math.max(0, Math.ceil(wait)) : null;
}

/** `auth_failed` also moves the connection to `error`. */
export function ruleFailure(rule: ErrorRule, outcome: RequestOutcome): AppError {
  const what = outcome.kind === 'response' ? `status ${outcome.status}` : outcome.kind;
  const message =
    rule.message ?? `The API responded with ${what}, which the error rules of the spec treat as a failure.`;
  const refused = rule.connection === 'error' || rule.action === 'refresh_auth';
  return new AppError(refused ? 'auth_failed' : 'source_rejected', message);
}

const waitsByFormat: Readonly<Record<WaitFormat, (text: string, nowMs: number) => number>> = {
  seconds: (text) => Number(text) * 1000,
  epoch_s: (text, nowMs) => Number(text) * 1000 - nowMs,
  epoch_ms: (text, nowMs) => Number(text) - nowMs,
  http_date: (text, nowMs) => Date.parse(text) - nowMs,
  iso: (text, nowMs) => Date.parse(text) - nowMs,
};

function statusHolds(rule: ErrorRule, outcome: RequestOutcome): boolean {
  const { status } = rule.when;
  // Without a status, a rule applies to responses only, as its expression needs one.
  if (status === undefined) return outcome.kind === 'response';
  if (outcome.kind !== 'response') return status.includes(outcome.kind);
  const family = outcome.status >= 400 && outcome.status < 600 ? (outcome.status < 500 ? '4xx' : '5xx') : null;
  return status.includes(outcome.status) || (family !== null && status.includes(family));
}

async function exprHolds(
  expression: string,
  outcome: RequestOutcome & { kind: 'response' },
  options: { readonly evaluate: Evaluate; readonly params: Readonly<Record<string, unknown>> },
): Promise<boolean> {
  if (costly.has(outcome)) return false;
  const { status, headers } = outcome;
  const body = await outcome.body();
  try {
    return (await options.evaluate(expression, { body, headers, status, params: options.params })) === true;
  } catch (error) {
    if (error instanceof CostlyExpressionError) costly.add(outcome);
    // `$number(headers.x)` throws if the header is missing, and the rule then does not match.
    if (error instanceof AppError && error.code === 'spec_invalid') return false;
    throw error;
  }
}
