import * as v from 'valibot';
import { secretIssue } from '../../crypto/standard-webhook.ts';
import { AppError } from '../../errors.ts';

/** The egress guard has not vetted the host yet. */
export interface WebhookOptions {
  readonly url: URL;
  readonly signingSecret: string;
  /** Lower-case names, except those that the service sets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly batchSize: number;
  readonly maxBatchBytes: number;
  /** Milliseconds for one request, its response included. */
  readonly timeoutMs: number;
  readonly parallelism: number;
}

/** A template without a value leaves its option out. */
const Given = v.object({
  url: v.string(),
  signingSecret: v.string(),
  headers: v.record(v.string(), v.union([v.string(), v.number(), v.boolean()])),
  batchSize: v.number(),
  maxBatchBytes: v.number(),
  timeoutMs: v.number(),
  parallelism: v.number(),
});

/** Header names that only the service sets: the receiver trusts them. */
const ownName = /^(?:content-.*|webhook-.*|x-service-.*|idempotency-key|host|transfer-encoding|connection)$/;

/** Throws `destination_rejected`; messages repeat no value. */
export function parseWebhookOptions(given: Readonly<Record<string, unknown>>): WebhookOptions {
  const { success, issues, output } = v.safeParse(Given, given);
  if (!success) throw refused(`\`${v.getDotPath(issues[0]) ?? ''}\` has no valid value`);
  const url = URL.parse(output.url);
  if (!url) throw refused('`url` is not an absolute URL');
  url.hash = '';
  const issue = secretIssue(output.signingSecret);
  if (issue !== null) throw refused(`\`signingSecret\` cannot sign: ${issue}`);
  const headers = Object.entries(output.headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  return { ...output, url, headers: Object.fromEntries(headers.filter(([name]) => !ownName.test(name))) };
}

const refused = (why: string): AppError =>
  new AppError('destination_rejected', `The webhook destination is not usable: ${why}.`);
