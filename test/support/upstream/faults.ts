import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { UpstreamAnswer } from './paging.ts';

/** What the fake API does to one request instead of answering it well. */
export type Fault =
  /** An error answer; `retryAfter` in seconds, or as an HTTP date. */
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: number | Date; readonly body?: string }
  /** The connection ends with a reset, before the answer or in the middle of its body. */
  | { readonly kind: 'reset'; readonly when: 'before' | 'midway' }
  /** The right answer, `bytes` at a time with a pause between. */
  | { readonly kind: 'drip'; readonly bytes: number; readonly everyMs: number }
  /** A valid answer of `bytes` bytes: the right one and blanks after it. */
  | { readonly kind: 'huge'; readonly bytes: number };

/** Sends `answer`, spoilt by `fault`. Resolves when all is sent or the caller has gone. Returns the status sent, null after a reset. */
export async function sendFaulty(
  fault: Fault,
  answer: UpstreamAnswer,
  response: ServerResponse,
): Promise<number | null> {
  switch (fault.kind) {
    case 'status':
      return sendAnswer(errorAnswer(fault), response);
    case 'reset':
      return sendReset(fault.when, answer, response);
    case 'drip':
      return sendPieces(answer, response, pieces(answer.body, fault));
    case 'huge':
      return sendPieces(answer, response, blanksAfter(answer.body, fault.bytes));
  }
}

/** Sends `answer` and returns its status. */
export function sendAnswer(answer: UpstreamAnswer, response: ServerResponse): number {
  const status = writeHead(answer, response);
  response.end(answer.body);
  return status;
}

function errorAnswer(fault: Extract<Fault, { kind: 'status' }>): UpstreamAnswer {
  const { status, retryAfter, body = `{"error":"made-up ${status}"}` } = fault;
  if (retryAfter === undefined) return { status, body };
  const value = typeof retryAfter === 'number' ? String(retryAfter) : retryAfter.toUTCString();
  return { status, headers: { 'retry-after': value }, body };
}

async function sendReset(when: 'before' | 'midway', answer: UpstreamAnswer, response: ServerResponse): Promise<null> {
  if (when === 'midway') {
    response.setHeader('content-length', Buffer.byteLength(answer.body));
    writeHead(answer, response);
    const half = answer.body.slice(0, Math.ceil(answer.body.length / 2));
    await new Promise((sent) => response.write(half, sent));
  }
  response.socket?.resetAndDestroy();
  return null;
}

async function sendPieces(
  answer: UpstreamAnswer,
  response: ServerResponse,
  parts: Iterable<string> | AsyncIterable<string>,
): Promise<number> {
  const status = writeHead(answer, response);
  try {
    await pipeline(Readable.from(parts), response);
  } catch (error) {
    // A caller that has seen enough goes away; that is what these faults are for.
    if (!response.destroyed) throw error;
  }
  return status;
}

async function* pieces(body: string, { bytes, everyMs }: Extract<Fault, { kind: 'drip' }>): AsyncIterable<string> {
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

function writeHead({ status = 200, headers = {} }: UpstreamAnswer, response: ServerResponse): number {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  return status;
}
