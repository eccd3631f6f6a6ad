import * as v from 'valibot';
import { AppError } from '../../errors.ts';
import { retryAfterMs } from '../../http/retry.ts';
import type { HttpResponse } from '../../model/http.ts';

export interface Rejection {
  readonly externalId: string;
  readonly message: string;
  readonly retryable: boolean;
}

export type WebhookVerdict =
  /** `isBare`: it does not mention refused records at all. */
  | { readonly kind: 'accepted'; readonly rejections: readonly Rejection[]; readonly isBare?: true }
  /** Some of its records are refused, without saying which. */
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'later'; readonly waitMs: number }
  /** `isUnreadable`, here and in `ended`: it responded in a form that does not show which records it refuses. */
  | { readonly kind: 'failing'; readonly what: string; readonly isUnreadable?: true }
  | { readonly kind: 'ended'; readonly error: AppError; readonly isUnreadable?: true };

/** Bounds of the wait that a receiver requests, in milliseconds. For a longer one, the request is sent again early. */
const waitMsMin = 1000;
const waitMsMax = 3_600_000;
const messageCharsMax = 500;

/** `rejected` may be null, which some libraries write for an empty list. */
const Acceptance = v.object({ rejected: v.optional(v.unknown()), duplicate: v.optional(v.unknown()) });
/** A receiver may keep ids as numbers; one too large for that has lost digits. */
const RecordId = v.union([v.string(), v.pipe(v.number(), v.check(isExact), v.transform(String))]);
const Rejection = v.object({
  externalId: RecordId,
  code: v.optional(v.unknown()),
  message: v.optional(v.unknown()),
  retryable: v.optional(v.unknown()),
});

/** `nowMs` since the epoch. */
export function interpretResponse({ status, headers, body }: HttpResponse, nowMs: number): WebhookVerdict {
  if (status >= 200 && status < 300) return accepted(status, readJson(body, headers['content-type']));
  const requestedMs = status === 429 || status === 503 ? retryAfterMs(headers['retry-after'], nowMs) : null;
  if (requestedMs !== null) return { kind: 'later', waitMs: Math.min(Math.max(requestedMs, waitMsMin), waitMsMax) };
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    return { kind: 'failing', what: `responded with ${status}` };
  }
  if (status === 400 || status === 422) return { kind: 'refused', status };
  if (status === 413) return { kind: 'too_large' };
  if (status === 409) {
    const found = readJson(body, undefined);
    if (found === unreadable) return illegible(status, 'a body that is no whole JSON');
    if (v.is(Acceptance, found) && found.duplicate === true) return accepted(status, found);
  }
  return { kind: 'ended', error: endOf(status) };
}

function endOf(status: number): AppError {
  const said = `The receiver responded with ${status}`;
  if (status === 410) {
    const advice = 'the endpoint was removed permanently. Set another URL and activate the connection again.';
    return new AppError('destination_gone', `${said}: ${advice}`);
  }
  if (status === 401 || status === 403 || status === 404) {
    const advice = 'check the URL, the signing secret and the headers of the destination.';
    return new AppError('destination_login', `${said}: ${advice}`);
  }
  const advice =
    status >= 300 && status < 400
      ? 'redirects are not followed; give the destination its final URL.'
      : 'this status is not valid for a batch; fix the receiver and start the sync again.';
  return new AppError('destination_rejected', `${said}: ${advice}`);
}

/**
 * Without `rejected` all records are accepted. An unreadable refusal is a failure, since its records would count as delivered.
 */
function accepted(status: number, response: unknown): WebhookVerdict {
  if (response === unreadable) return illegible(status, 'a body that is no whole JSON');
  if (!v.is(Acceptance, response) || (response.rejected ?? null) === null)
    return { kind: 'accepted', rejections: [], isBare: true };
  const { success, output } = v.safeParse(v.array(Rejection), response.rejected);
  if (!success) return illegible(status, 'a `rejected` that is no list of {"externalId": …}');
  return { kind: 'accepted', rejections: output.map(rejectionOf) };
}

/**
 * Refusals that name no record of the request are unreadable, since any may be meant. A receiver that loses leading zeros of
 * numbers causes this.
 */
export function verdictAbout(verdict: WebhookVerdict, status: number, sent: () => ReadonlySet<string>): WebhookVerdict {
  if (verdict.kind !== 'accepted' || verdict.rejections.length === 0) return verdict;
  const ids = sent();
  return verdict.rejections.some(({ externalId }) => ids.has(externalId))
    ? verdict
    : illegible(status, 'a `rejected` that names no record of the request');
}

const illegible = (status: number, what: string): WebhookVerdict => ({
  kind: 'failing',
  what: `responded with ${status} and ${what}`,
  isUnreadable: true,
});

function rejectionOf({ externalId, code, message, retryable }: v.InferOutput<typeof Rejection>): Rejection {
  const words = [code, message].filter((word) => typeof word === 'string' && word !== '');
  const said = words.length === 0 ? 'it gave no reason' : words.join(': ').slice(0, messageCharsMax);
  return { externalId, message: `Refused by the receiver: ${said}`, retryable: retryable === true };
}

/** A whole number with all its digits, or a number with decimals. */
function isExact(value: number): boolean {
  return Number.isSafeInteger(value) || !Number.isInteger(value);
}

/** Announced as JSON, but invalid. */
const unreadable = Symbol('unreadable');

/** `null` for other bodies that do not claim to be JSON, such as `OK` or an HTML page. */
function readJson(body: Uint8Array, contentType: string | undefined): unknown {
  const text = Buffer.from(body)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim();
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text.startsWith('{') || /[/+]json\b/i.test(contentType ?? '') ? unreadable : null;
  }
}
