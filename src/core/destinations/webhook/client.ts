import { webhookHeaders } from '../../crypto/standard-webhook.ts';
import { AppError } from '../../errors.ts';
import { createHttpClient } from '../../http/client.ts';
import type { EgressGuard } from '../../http/egress.ts';
import type { LoggedCall } from '../../http/logged-call.ts';
import { createRedactor, type Redactor } from '../../http/redact.ts';
import { type HttpResponse } from '../../model/http.ts';
import type { WebhookOptions } from './options.ts';
import type { OutboxPart } from './outbox.ts';
import { recordsOf } from './parts.ts';
import { interpretResponse, verdictAbout, type WebhookVerdict } from './response.ts';

/** Disposing ends the request in progress: `post` throws, and the outcome stays unknown. */
export interface WebhookClient extends AsyncDisposable {
  /** Throws `egress_blocked`, `spec_invalid`, or `destination_rejected` for a response that cannot be read. */
  post(part: OutboxPart): Promise<WebhookVerdict>;
}

export interface WebhookClientDeps {
  readonly guard: EgressGuard;
  readonly logCall: (call: LoggedCall) => void;
  readonly secrets: readonly string[];
  /** Whether the URL is the operator's, not the org's: then only its origin is shown. */
  readonly isOperators: boolean;
}

/** A longer response is refused: more is never needed. */
const responseBytesMax = 1_048_576;

/** Every retry is the caller's. `now`: milliseconds since the epoch. */
export function createWebhookClient(
  options: WebhookOptions,
  deps: WebhookClientDeps,
  now: () => number,
): WebhookClient {
  const { url, signingSecret, headers, timeoutMs } = options;
  const hidden = deps.isOperators ? partsBehindOrigin(url) : [];
  const shownAs = deps.isOperators ? { url: url.origin } : {};
  const redactor = createRedactor(hidden);
  const closing = new AbortController();
  const client = createHttpClient({
    egress: deps.guard,
    takeToken: async () => 0,
    logCall: (call) => deps.logCall({ ...call, ...shownAs, reqBodyRedacted: withoutRecords(call.reqBodyRedacted) }),
    secrets: [...deps.secrets, signingSecret, ...Object.values(headers), ...hidden],
    retry: { maxAttempts: 1, baseMs: 0, maxMs: 0, maxWaitSeconds: 0 },
    redirects: 'none',
    classify: async () => ({ action: 'accept' }),
  });
  const send = ({ id, body }: OutboxPart): Promise<HttpResponse> => {
    const signed = webhookHeaders({ id, body, sentAt: new Date(now()) }, [signingSecret]);
    const request = {
      method: 'POST',
      url,
      headers: { ...headers, ...signed, 'idempotency-key': id, 'content-type': 'application/json' },
      body,
      timeoutMs,
      headersTimeoutMs: timeoutMs,
      responseBytesMax,
      allowedHosts: [],
    } as const;
    return client.send(request, { signal: closing.signal });
  };
  return {
    async post(part) {
      try {
        const response = await send(part);
        const sent = () => new Set(recordsOf(part).map(({ externalId }) => externalId));
        return withoutUrl(verdictAbout(interpretResponse(response, now()), response.status, sent), redactor);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (error.code === 'source_unavailable') return { kind: 'failing', what: 'sent no response' };
        if (error.code === 'source_rejected') return { kind: 'ended', error: unreadable(error), isUnreadable: true };
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('The destination was closed.'));
      await client[Symbol.asyncDispose]();
    },
  };
}

/** The path of a URL, its segments and its query values: a receiver may send each of them back. */
const partsBehindOrigin = ({ pathname, search, searchParams }: URL): readonly string[] => [
  pathname + search,
  pathname,
  ...pathname.split('/'),
  ...searchParams.values(),
];

/** The receiver's words are shown to the org. */
function withoutUrl(verdict: WebhookVerdict, redactor: Redactor): WebhookVerdict {
  if (verdict.kind !== 'accepted') return verdict;
  const rejections = verdict.rejections.map((one) => ({ ...one, message: redactor.values(one.message) }));
  return { ...verdict, rejections };
}

/** Records belong to the customer: the log shows only their envelope. */
const withoutRecords = (body: string | null): string | null =>
  body === null ? null : `${body.split(',"records":', 1)[0]},"records":[not logged]}`;

const unreadable = (cause: AppError): AppError =>
  new AppError(
    'destination_rejected',
    `The receiver responded with more than ${responseBytesMax / 1_048_576} MiB, too many headers or an unknown encoding: respond with a short JSON text.`,
    { cause },
  );
