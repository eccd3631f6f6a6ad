import * as v from 'valibot';
import { AppError } from '../../errors.ts';
import { retryAfterMs } from '../../http/retry.ts';
import type { HttpResponse } from '../../model/http.ts';

/** A record that the receiver does not take. */
export interface Rejection {
  readonly externalId: string;
  readonly message: string;
  /** Whether it may be sent once more. */
  readonly retryable: boolean;
}

/** What a response means for the request. */
export type WebhookVerdict =
  | { readonly kind: 'accepted'; readonly rejections: readonly Rejection[] }
  /** Some record of it is refused; the receiver does not say which. */
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'too_large' }
  /** The receiver asks for a pause. */
  | { readonly kind: 'later'; readonly waitMs: number }
  | { readonly kind: 'failing'; readonly what: string }
  | { readonly kind: 'ended'; readonly error: AppError };

/**
 * The bounds of the wait that a receiver requests, in milliseconds; after a longer one, the request is sent again
 * early.
 */
const waitMsMin = 1000;
const waitMsMax = 3_600_000;
/** Characters of the receiver's words that are kept of a refusal. */
const messageCharsMax = 500;

const PartialAcceptance = v.object({ rejected: v.array(v.unknown()) });
const Rejection = v.object({
  externalId: v.string(),
  code: v.optional(v.unknown()),
  message: v.optional(v.unknown()),
  retryable: v.optional(v.unknown()),
});
const Duplicate = v.object({ duplicate: v.literal(true) });

/** Checks a response; `nowMs` since the epoch. */
export function interpretResponse({ status, headers, body }: HttpResponse, nowMs: number): WebhookVerdict {
  if (status >= 200 && status < 300) return { kind: 'accepted', rejections: rejectionsIn(body) };
  const requestedMs = status === 429 || status === 503 ? retryAfterMs(headers['retry-after'], nowMs) : null;
  if (requestedMs !== null) return { kind: 'later', waitMs: Math.min(Math.max(requestedMs, waitMsMin), waitMsMax) };
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    return { kind: 'failing', what: `responded with ${status}` };
  }
  if (status === 400 || status === 422) return { kind: 'refused', status };
  if (status === 413) return { kind: 'too_large' };
  if (status === 409 && v.is(Duplicate, jsonIn(body))) return { kind: 'accepted', rejections: [] };
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

/** A response without the documented form is ignored, and the whole batch is accepted. */
function rejectionsIn(body: Uint8Array): readonly Rejection[] {
  const response = jsonIn(body);
  if (!v.is(PartialAcceptance, response)) return [];
  return response.rejected.flatMap((entry) => {
    if (!v.is(Rejection, entry)) return [];
    const { externalId, code, message, retryable } = entry;
    const words = [code, message].filter((word) => typeof word === 'string' && word !== '');
    const said = words.length === 0 ? 'it gave no reason' : words.join(': ').slice(0, messageCharsMax);
    return [{ externalId, message: `Refused by the receiver: ${said}`, retryable: retryable === true }];
  });
}

function jsonIn(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return null;
  }
}
