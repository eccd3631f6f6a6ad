/**
 * Handshakes by which upstreams verify an address before they use it. A response shows that the token in the address is
 * known.
 */
import * as v from 'valibot';
import { parseBounded } from '../json/json-size.ts';
import type { HeaderLookup } from './signed-content.ts';

export interface HandshakeResponse {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Longest challenge; longer ones are ignored, so that a response does not echo arbitrary content. */
const challengeLengthMax = 2000;
const text = (challenge: string | null): HandshakeResponse | null =>
  challenge === null || challenge === '' || challenge.length > challengeLengthMax
    ? null
    : { body: challenge, headers: { 'content-type': 'text/plain; charset=utf-8' } };

/** Microsoft Graph posts a `validationToken` in the query for a new subscription; `null` for other requests. */
export const graphHandshake = (query: URLSearchParams): HandshakeResponse | null => text(query.get('validationToken'));

/** Meta and WebSub hubs send `hub.challenge` by GET; `null` for other requests. */
export const hubHandshake = (query: URLSearchParams): HandshakeResponse | null =>
  query.get('hub.mode') === 'subscribe' ? text(query.get('hub.challenge')) : null;

/** CloudEvents asks by OPTIONS whether an origin may send, and at which rate; `null` for other requests. */
export function cloudEventsHandshake(header: HeaderLookup): HandshakeResponse | null {
  const origin = header('webhook-request-origin');
  if (origin === null) return null;
  return { body: '', headers: { 'webhook-allowed-origin': origin, 'webhook-allowed-rate': '*', allow: 'POST' } };
}

/** Slack sends three. */
const challengeValuesMax = 100;

const SlackChallenge = v.object({ type: v.literal('url_verification'), challenge: v.string() });

/** Slack posts a challenge, signed like any event; `null` for other requests. */
export function slackHandshake(body: Uint8Array): HandshakeResponse | null {
  try {
    const { success, output } = v.safeParse(SlackChallenge, parseBounded(body, challengeValuesMax));
    return success ? text(output.challenge) : null;
  } catch {
    return null;
  }
}
