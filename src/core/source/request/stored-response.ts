import type { HttpRequest, HttpResponse } from '../../model/http.ts';

export interface StoredResponse extends Pick<HttpResponse, 'status' | 'headers'> {
  /** Base64. */
  readonly body: string;
  /** After redirects, without the query, which may hold credentials. */
  readonly url: string;
}

/** A longer body is not stored. */
const bodyBytesMax = 4_000_000;

/** `null` if the response may not be reused. */
export function toRest({ status, headers, body, url }: HttpResponse): StoredResponse | null {
  if (status !== 200 || body.length > bodyBytesMax) return null;
  const { 'set-cookie': _secret, ...plain } = headers;
  return { status, headers: plain, body: Buffer.from(body).toString('base64'), url: withoutQuery(url) };
}

export function fromRest({ status, headers, body, url }: StoredResponse, request: HttpRequest): HttpResponse {
  const isRedirected = url !== withoutQuery(request.url);
  return { status, headers, body: Buffer.from(body, 'base64'), url: isRedirected ? new URL(url) : request.url };
}

const withoutQuery = ({ origin, pathname }: URL): string => origin + pathname;
