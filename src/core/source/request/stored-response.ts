import type { HttpRequest, HttpResponse } from '../../model/http.ts';

/** A response as it is kept. Plain JSON. */
export interface StoredResponse extends Pick<HttpResponse, 'status' | 'headers'> {
  /** Base64. */
  readonly body: string;
  /** After redirects, without the query, which may hold credentials. */
  readonly url: string;
}

/** A longer body is asked for each time, bytes. */
const bodyBytesMax = 4_000_000;

/** The response for another time; null: it is none that may be given again. */
export function toRest({ status, headers, body, url }: HttpResponse): StoredResponse | null {
  if (status !== 200 || body.length > bodyBytesMax) return null;
  const { 'set-cookie': _secret, ...plain } = headers;
  return { status, headers: plain, body: Buffer.from(body).toString('base64'), url: withoutQuery(url) };
}

/** The response as if it came now. */
export function fromRest({ status, headers, body, url }: StoredResponse, request: HttpRequest): HttpResponse {
  const isRedirected = url !== withoutQuery(request.url);
  return { status, headers, body: Buffer.from(body, 'base64'), url: isRedirected ? new URL(url) : request.url };
}

const withoutQuery = ({ origin, pathname }: URL): string => origin + pathname;
