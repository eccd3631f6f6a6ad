import type { PostErrorCode } from '../../../core/http/post-error.ts';
import type { WebhookDeliveryDetail } from '../../../core/resources/webhook-delivery.ts';
import { type Content, html } from '../../parts/html.ts';
import { time } from '../../parts/time.ts';

type Failed = Pick<WebhookDeliveryDetail, 'errorCode' | 'statusCode' | 'nextAttemptAt'>;

const words: Readonly<Record<PostErrorCode, readonly [happened: string, advice: string]>> = {
  http_status: [
    'The receiver did not accept the event.',
    'A status from 200 to 299 accepts an event. The response below may say why this one was refused.',
  ],
  redirect: [
    'The receiver redirected the request.',
    'Redirects are not followed: set the URL of the endpoint to the address that it leads to.',
  ],
  timeout: [
    'The receiver did not respond within the time limit.',
    'Respond first and process the event after that, or raise the time limit of the endpoint.',
  ],
  body_too_slow: [
    'The receiver began its response, but did not end it within the time limit.',
    'Respond with a status and no body.',
  ],
  connect_refused: ['Nothing accepted the connection.', 'Check that the receiver runs, and its port.'],
  connection_reset: [
    'The connection broke before a response arrived.',
    'The receiver may have seen the event: it knows a second attempt by the same webhook-id.',
  ],
  dns_error: ['The host name was not found.', 'Check the host name in the URL, and its DNS records.'],
  tls_error: [
    'No secure connection came about.',
    'Check the certificate of the receiver: its host name, its dates and its chain.',
  ],
  egress_blocked: [
    'The address is not allowed.',
    'Events are sent only to public addresses. The operator can open others (EGRESS_ALLOW).',
  ],
};

const isKnown = (code: string): code is PostErrorCode => Object.hasOwn(words, code);

/** Empty if the attempt did not fail. */
export function deliveryProblem({ errorCode, statusCode, nextAttemptAt }: Failed): Content {
  if (errorCode === null) return null;
  const [happened, advice] = isKnown(errorCode) ? words[errorCode] : [`It failed: ${errorCode}.`, ''];
  return html`<div class="failure bad">
    <h2>Why it failed</h2>
    <p class="strong">${happened}${errorCode === 'http_status' && statusCode !== null ? ` Its status is ${statusCode}.` : ''}</p>
    <div class="help"><h3>What to do <code>${errorCode}</code></h3><p>${advice} ${
      nextAttemptAt === null
        ? 'It is not tried again by itself: redeliver it once the cause is removed.'
        : html`It is tried again at ${time(nextAttemptAt)}.`
    }</p></div>
  </div>`;
}
