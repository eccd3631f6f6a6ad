import { AppError } from '../errors.ts';
import type { HttpAnswer } from '../http/client.ts';
import type { ResponseSettings } from '../spec/resource-schema.ts';
import { decodeJson } from './decode-json.ts';

const decoded = new WeakMap<HttpAnswer, unknown>();

/**
 * The body of an answer as the resource's decoder reads it; decoded once per answer, however often it is asked.
 * Throws `source_rejected` for a body that is not of that form, `spec_invalid` for a decoder this build lacks.
 */
export function decodeBody(answer: HttpAnswer, response: Pick<ResponseSettings, 'decoder' | 'bigNumbers'>): unknown {
  if (decoded.has(answer)) return decoded.get(answer);
  const body = decode(answer.body, response);
  decoded.set(answer, body);
  return body;
}

/** Like {@link decodeBody}, but undefined for an error page in HTML and other bodies that do not decode. */
export function tryDecodeBody(answer: HttpAnswer, response: Pick<ResponseSettings, 'decoder' | 'bigNumbers'>): unknown {
  try {
    return decodeBody(answer, response);
  } catch (error) {
    if (error instanceof AppError && error.code === 'source_rejected') return undefined;
    throw error;
  }
}

function decode(bytes: Uint8Array, response: Pick<ResponseSettings, 'decoder' | 'bigNumbers'>): unknown {
  const { decoder, bigNumbers } = response;
  if (decoder === 'json') return decodeJson(bytes, { bigNumbers });
  if (decoder === 'jsonl') return lines(bytes).map((line) => decodeJson(line, { bigNumbers }));
  throw new AppError('spec_invalid', `response.decoder "${decoder}" is not available yet. Use json or jsonl.`);
}

function lines(bytes: Uint8Array): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const feed = bytes.indexOf(0x0a, start);
    const end = feed === -1 ? bytes.length : feed;
    const line = bytes.subarray(start, bytes[end - 1] === 0x0d ? end - 1 : end);
    if (line.length > 0) found.push(line);
    start = end + 1;
  }
  return found;
}
