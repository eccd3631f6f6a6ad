import { isUtf8 } from 'node:buffer';
import type { HttpResponse } from '../model/http.ts';
import type { Hop } from './exchange.ts';
import { edgeChars, type Redactor } from './redact.ts';

export type CallErrorCode = 'egress_blocked' | 'source_rejected' | 'spec_invalid' | 'network' | 'timeout' | 'canceled';

/** The content of a call-log row, with every secret masked. A database can store all its texts. */
export interface LoggedCall {
  readonly method: string;
  readonly url: string;
  /** `null` when no complete response arrived. */
  readonly statusCode: number | null;
  readonly durationMs: number;
  /** From 1; the hops of a redirect share that of their attempt. */
  readonly attempt: number;
  readonly reqHeadersRedacted: Readonly<Record<string, string>>;
  readonly reqBodyRedacted: string | null;
  readonly respHeaders: Readonly<Record<string, string>>;
  /** The first characters of a text body, or the size of a binary one; `null` without a body. */
  readonly respBodyTruncated: string | null;
  /** `null` when a response arrived, regardless of its status, or none was needed. */
  readonly errorCode: CallErrorCode | null;
  /** A cache had the response, or the API said that an earlier one still holds (304). */
  readonly cacheHit: boolean;
}

export interface CallResult {
  readonly attempt: number;
  readonly durationMs: number;
  readonly response: HttpResponse | null;
  readonly errorCode: CallErrorCode | null;
  readonly cacheHit?: boolean;
}

export interface LogLimits {
  readonly redactor: Redactor;
  readonly bodyCharsMax: number;
}

/** Reads only as much of a body as the entry can show, so a large page costs no more. */
export function describeCall(
  hop: Hop,
  { attempt, durationMs, response, errorCode, cacheHit = false }: CallResult,
  limits: LogLimits,
): LoggedCall {
  const { redactor } = limits;
  return {
    method: hop.method,
    url: redactor.url(hop.url),
    statusCode: response?.status ?? null,
    durationMs,
    attempt,
    reqHeadersRedacted: storableHeaders(redactor.requestHeaders(hop.headers)),
    reqBodyRedacted: hop.body === undefined ? null : cut(hop.body, hop.body.length, limits),
    respHeaders: response === null ? {} : storableHeaders(redactor.responseHeaders(response.headers)),
    respBodyTruncated: response === null ? null : describeBytes(response.body, limits),
    errorCode,
    cacheHit: cacheHit || response?.status === 304,
  };
}

function describeBytes(body: Uint8Array, limits: LogLimits): string | null {
  if (body.length === 0) return null;
  // One unit of a JavaScript string is at most 3 bytes: enough for the shown part and a secret across its end.
  const head = wholeCharacters(body, (limits.bodyCharsMax + edgeChars) * 3);
  if (head.includes(0) || !isUtf8(head)) return `[binary, ${body.length} bytes]`;
  const text = Buffer.from(head.buffer, head.byteOffset, head.length).toString('utf8');
  return cut(text, text.length + body.length - head.length, limits);
}

function cut(text: string, length: number, { redactor, bodyCharsMax }: LogLimits): string {
  const shown = storable(redactor.text(text, bodyCharsMax));
  return length > bodyCharsMax ? `${shown}… [${length} in all]` : shown;
}

const storableHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [storable(name), storable(value)]));

const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '␀');

/** Keeps the last UTF-8 character whole. */
function wholeCharacters(body: Uint8Array, bytesMax: number): Uint8Array {
  if (body.length <= bytesMax) return body;
  let end = bytesMax;
  while (end > bytesMax - 4 && ((body[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return body.subarray(0, end);
}
