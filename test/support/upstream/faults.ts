import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { UpstreamResponse } from './paging.ts';

/** What the fake API does to one request instead of responding well. */
export type FaultIssue =
  /** An error response; `retryAfter` in seconds, or as an HTTP date. */
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: number | Date; readonly body?: string }
  /** The connection ends with a reset, before the response or in the middle of its body. */
  | { readonly kind: 'reset'; readonly when: 'before' | 'midway' }
  /** The right response, `bytes` at a time with a pause between. */
  | { readonly kind: 'drip'; readonly bytes: number; readonly everyMs: number }
  /** A valid response of `bytes` bytes: the right one and blanks after it. */
  | { readonly kind: 'huge'; readonly bytes: number };

/**
 * Sends `response`, spoilt by `issue`, until all is sent or the caller has closed the connection. Returns the status
 * sent; null after a reset.
 */
export async function sendFaulty(
  issue: FaultIssue,
  reply: UpstreamResponse,
  response: ServerResponse,
): Promise<number | null> {
  switch (issue.kind) {
    case 'status':
      return sendResponse(errorResponse(issue), response);
    case 'reset':
      return sendReset(issue.when, reply, response);
    case 'drip':
      return sendPieces(reply, response, pieces(reply.body, issue));
    case 'huge':
      return sendPieces(reply, response, blanksAfter(reply.body, issue.bytes));
  }
}

/** Sends `response` and returns its status. */
export function sendResponse(reply: UpstreamResponse, response: ServerResponse): number {
  const status = writeHead(reply, response);
  response.end(reply.body);
  return status;
}

function errorResponse(issue: Extract<FaultIssue, { kind: 'status' }>): UpstreamResponse {
  const { status, retryAfter, body = `{"error":"made-up ${status}"}` } = issue;
  if (retryAfter === undefined) return { status, body };
  const value = typeof retryAfter === 'number' ? String(retryAfter) : retryAfter.toUTCString();
  return { status, headers: { 'retry-after': value }, body };
}

async function sendReset(when: 'before' | 'midway', reply: UpstreamResponse, response: ServerResponse): Promise<null> {
  if (when === 'midway') {
    response.setHeader('content-length', Buffer.byteLength(reply.body));
    writeHead(reply, response);
    const half = reply.body.slice(0, Math.ceil(reply.body.length / 2));
    await new Promise((sent) => response.write(half, sent));
  }
  response.socket?.resetAndDestroy();
  return null;
}

async function sendPieces(
  reply: UpstreamResponse,
  response: ServerResponse,
  parts: Iterable<string> | AsyncIterable<string>,
): Promise<number> {
  const status = writeHead(reply, response);
  try {
    await pipeline(Readable.from(parts), response);
  } catch (error) {
    // A caller that has seen enough goes away; that is what these faults are for.
    if (!response.destroyed) throw error;
  }
  return status;
}

async function* pieces(body: string, { bytes, everyMs }: Extract<FaultIssue, { kind: 'drip' }>): AsyncIterable<string> {
  for (let from = 0; from < body.length; from += bytes) {
    yield body.slice(from, from + bytes);
    await delay(everyMs);
  }
}

function* blanksAfter(body: string, bytes: number): Iterable<string> {
  yield body;
  const block = ' '.repeat(65_536);
  for (let left = bytes - body.length; left > 0; left -= block.length) yield block.slice(0, left);
}

function writeHead({ status = 200, headers = {} }: UpstreamResponse, response: ServerResponse): number {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  return status;
}
