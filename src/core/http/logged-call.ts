import { isUtf8 } from 'node:buffer';
import type { HttpResponse } from '../model/http.ts';
import type { Hop } from './exchange.ts';
import { edgeChars, type Redactor } from './redact.ts';

/** Why a call has no usable response. */
export type CallErrorCode = 'egress_blocked' | 'source_rejected' | 'spec_invalid' | 'network' | 'timeout' | 'canceled';

/**
 * One request on the wire, or one that was blocked or saved by a cache, with every secret masked: the content of a
 * call-log row. A database can store all its texts.
 */
export interface LoggedCall {
  readonly method: string;
  readonly url: string;
  /** Null when no complete response arrived. */
  readonly statusCode: number | null;
  readonly durationMs: number;
  /** The number of the attempt, from 1; the hops of a redirect share that of their attempt. */
  readonly attempt: number;
  readonly reqHeadersRedacted: Readonly<Record<string, string>>;
  readonly reqBodyRedacted: string | null;
  readonly respHeaders: Readonly<Record<string, string>>;
  /** The first characters of a text body, the size of a binary one; null when there is none. */
  readonly respBodyTruncated: string | null;
  /** Null when a response arrived, whatever its status, or none was needed. */
  readonly errorCode: CallErrorCode | null;
  /** A cache had the response, or the API said that an earlier one still holds (304). */
  readonly cacheHit: boolean;
}

/** The result of a hop. */
export interface CallResult {
  /** From 1. */
  readonly attempt: number;
  readonly durationMs: number;
  /** Null: no complete response arrived. */
  readonly response: HttpResponse | null;
  /** Null: a response arrived, or none was needed. */
  readonly errorCode: CallErrorCode | null;
  /** A cache had the response; absent: false. */
  readonly cacheHit?: boolean;
}

/** How much a log entry holds and what it must not hold. */
export interface LogLimits {
  readonly redactor: Redactor;
  /** Characters of each body. */
  readonly bodyCharsMax: number;
}

/** The log entry of `hop`. Only as much of a body is read as the entry can show, so a large page costs no more. */
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
  // One unit of a JavaScript string is at most 3 bytes: enough for what is shown and a secret that reaches over its end.
  const head = wholeCharacters(body, (limits.bodyCharsMax + edgeChars) * 3);
  if (head.includes(0) || !isUtf8(head)) return `[binary, ${body.length} bytes]`;
  const text = Buffer.from(head.buffer, head.byteOffset, head.length).toString('utf8');
  return cut(text, text.length + body.length - head.length, limits);
}

/** The masked beginning of a text of `length` characters, and the length when something is left off. */
function cut(text: string, length: number, { redactor, bodyCharsMax }: LogLimits): string {
  const shown = storable(redactor.text(text, bodyCharsMax));
  return length > bodyCharsMax ? `${shown}… [${length} in all]` : shown;
}

const storableHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [storable(name), storable(value)]));

const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '␀');

/** The first bytes of a body, at most `bytesMax`, without a UTF-8 character that the cut would split. */
function wholeCharacters(body: Uint8Array, bytesMax: number): Uint8Array {
  if (body.length <= bytesMax) return body;
  let end = bytesMax;
  while (end > bytesMax - 4 && ((body[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return body.subarray(0, end);
}
