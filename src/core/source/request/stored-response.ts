import type { HttpRequest, HttpResponse } from '../../model/http.ts';

/** A response as it is stored. Plain JSON. */
export interface StoredResponse extends Pick<HttpResponse, 'status' | 'headers'> {
  /** Base64. */
  readonly body: string;
  /** The URL after redirects, without the query, which may hold credentials. */
  readonly url: string;
}

/** The bytes of a body up to which it is stored; a longer one is requested each time. */
const bodyBytesMax = 4_000_000;

/** The response in its stored form; null: it may not be reused. */
export function toRest({ status, headers, body, url }: HttpResponse): StoredResponse | null {
  if (status !== 200 || body.length > bodyBytesMax) return null;
  const { 'set-cookie': _secret, ...plain } = headers;
  return { status, headers: plain, body: Buffer.from(body).toString('base64'), url: withoutQuery(url) };
}

/** The stored response as if it came now. */
export function fromRest({ status, headers, body, url }: StoredResponse, request: HttpRequest): HttpResponse {
  const isRedirected = url !== withoutQuery(request.url);
  return { status, headers, body: Buffer.from(body, 'base64'), url: isRedirected ? new URL(url) : request.url };
}

const withoutQuery = ({ origin, pathname }: URL): string => origin + pathname;
