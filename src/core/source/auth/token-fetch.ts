import {
  type AuthorizationServer,
  allowInsecureRequests,
  type CustomFetchOptions,
  customFetch,
  type TokenEndpointRequestOptions,
} from 'oauth4webapi';
import type { HttpClient } from '../../model/http.ts';
import { loggingBlocked } from '../request/log-blocked.ts';
import { renderUrl } from '../request/url-template.ts';
import type { AuthValues } from './auth-values.ts';
import { decodeTokenResponse, sendTokenRequest, tokenTransport } from './token-client.ts';

/**
 * Sends oauth4webapi's requests through the guarded client, throwing what `sendTokenRequest` throws; `json` sends the
 * form's fields as JSON.
 */
export function throughClient(client: HttpClient, body: 'form' | 'json' = 'form') {
  return {
    // The egress guard decides about plain HTTP, as for every request.
    [allowInsecureRequests]: true,
    [customFetch]: async (
      url: string,
      { headers: { authorization }, body: form }: CustomFetchOptions<'POST', URLSearchParams>,
    ): Promise<Response> => {
      // Keeps only the proof of the library's headers: some servers refuse a form whose content type has a charset.
      const headers = {
        accept: 'application/json',
        'content-type': body === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
        ...(authorization === undefined ? {} : { authorization }),
      };
      const text = body === 'json' ? JSON.stringify(Object.fromEntries(form)) : form.toString();
      const request = { ...tokenTransport, method: 'POST', url: new URL(url), headers, body: text } as const;
      const response = await sendTokenRequest(client, request);
      // Drops status and headers: the response was accepted, and nothing else of it is read.
      return new Response(Buffer.from(response.body));
    },
  } satisfies TokenEndpointRequestOptions;
}

/** Throws what {@link renderUrl} throws, and logs a refused address. */
export const tokenUrl = (
  template: string,
  { client, values }: { readonly client: HttpClient; readonly values: Pick<AuthValues, 'hole'> },
): Promise<URL> => loggingBlocked(client, 'POST', () => renderUrl(template, values.hole));

/**
 * Specs name no issuer, so the endpoint serves as the issuer and as the audience of assertions (RFC 7523 3). Throws
 * `egress_blocked` unless it is HTTP.
 */
export async function serverAt(url: URL, client: HttpClient): Promise<AuthorizationServer> {
  // The library refuses other schemes too, but with its own message and without an entry in the call log.
  if (!/^https?:$/.test(url.protocol)) {
    await sendTokenRequest(client, { ...tokenTransport, method: 'POST', url, headers: {} });
  }
  return { issuer: url.href, token_endpoint: url.href, revocation_endpoint: url.href };
}

/** `null` without a body; throws `source_rejected` if it is not JSON. */
export async function responseOf(response: Response): Promise<unknown> {
  return decodeTokenResponse(new Uint8Array(await response.arrayBuffer()));
}
