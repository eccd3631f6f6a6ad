import { type BigNumbers, decodeJson } from '../decode/decode-json.ts';

/** Bytes searched at either end of a body, as the part around a list of records is short. */
const endBytes = 2048;

const quote = 0x22;
const backslash = 0x5c;

/**
 * Parses a JSON body without everything between its first `[` and last `]`, which with several lists includes more than
 * one of them. `undefined` if no list is found near both ends; throws `source_rejected` if the rest is not JSON.
 */
export function parseEnvelope(body: Uint8Array, options: { readonly bigNumbers: BigNumbers }): unknown {
  const start = firstOpening(body);
  const end = lastClosing(body);
  if (start === -1 || end <= start) return undefined;
  return decodeJson(Buffer.concat([body.subarray(0, start + 1), body.subarray(end)]), options);
}

function firstOpening(body: Uint8Array): number {
  const limit = Math.min(body.length, endBytes);
  for (let at = 0; at < limit; at += 1) {
    if (body[at] === quote) at = closingQuote(body, at);
    else if (body[at] === 0x5b) return at;
  }
  return -1;
}

function lastClosing(body: Uint8Array): number {
  const limit = Math.max(0, body.length - endBytes);
  for (let at = body.length - 1; at >= limit; at -= 1) {
    if (body[at] === quote) at = openingQuote(body, at);
    else if (body[at] === 0x5d) return at;
  }
  return -1;
}

function closingQuote(body: Uint8Array, start: number): number {
  for (let at = start + 1; at < body.length; at += 1) {
    if (body[at] === backslash) at += 1;
    else if (body[at] === quote) return at;
  }
  return body.length;
}

/** Index of the opening quote, which is the nearest one without a backslash, or -1. */
function openingQuote(body: Uint8Array, end: number): number {
  for (let at = end - 1; at >= 0; at -= 1) {
    if (body[at] === quote && !isEscaped(body, at)) return at;
  }
  return -1;
}

function isEscaped(body: Uint8Array, at: number): boolean {
  let start = at;
  while (body[start - 1] === backslash) start -= 1;
  return (at - start) % 2 === 1;
}
