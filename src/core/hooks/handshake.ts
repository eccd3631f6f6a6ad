/** What upstreams ask an address before they use it. The token in the address is what is shown by a response. */
import * as v from 'valibot';
import type { HeaderLookup } from './signed-content.ts';

/** A response that is all an upstream wants. */
export interface HandshakeResponse {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The longest challenge; longer ones are none: a response is no echo of anything. */
const challengeLengthMax = 2000;
const text = (challenge: string | null): HandshakeResponse | null =>
  challenge === null || challenge === '' || challenge.length > challengeLengthMax
    ? null
    : { body: challenge, headers: { 'content-type': 'text/plain; charset=utf-8' } };

/** Microsoft Graph posts a `validationToken` in the query when a subscription is made. Null: it is no such request. */
export const graphHandshake = (query: URLSearchParams): HandshakeResponse | null => text(query.get('validationToken'));

/** Meta, and hubs of WebSub, ask with GET for their `hub.challenge`. Null: it is no such request. */
export const hubHandshake = (query: URLSearchParams): HandshakeResponse | null =>
  query.get('hub.mode') === 'subscribe' ? text(query.get('hub.challenge')) : null;

/** CloudEvents asks with OPTIONS whether an origin may send, and at which rate. Null: it is no such request. */
export function cloudEventsHandshake(header: HeaderLookup): HandshakeResponse | null {
  const origin = header('webhook-request-origin');
  if (origin === null) return null;
  return { body: '', headers: { 'webhook-allowed-origin': origin, 'webhook-allowed-rate': '*', allow: 'POST' } };
}

const SlackChallenge = v.object({ type: v.literal('url_verification'), challenge: v.string() });

/** Slack posts a challenge, signed as any event. Null: it is no such request. */
export function slackHandshake(body: Uint8Array): HandshakeResponse | null {
  try {
    const { success, output } = v.safeParse(SlackChallenge, JSON.parse(Buffer.from(body).toString('utf8')));
    return success ? text(output.challenge) : null;
  } catch {
    return null;
  }
}
