import { collectBytes } from '../../core/collected-bytes.ts';
import { bodyBytesMax, checkDocument, type TextLimit } from '../../core/json/body-document.ts';
import { jsonLimits } from '../../core/json/json-limits.ts';
import { HttpRejection } from '../errors.ts';

/**
 * An empty body is `whenEmpty`, or refused if that is undefined. The content type is not checked.
 *
 * Throws {@link HttpRejection} 413 when the body is too long, and 400 without a code when it is not UTF-8 JSON.
 * Throws a validation error for values that no later stage should have to expect.
 */
export async function readBody(
  request: Request,
  whenEmpty?: unknown,
  limits: TextLimit = jsonLimits,
): Promise<unknown> {
  const text = decode(await readBytes(request));
  if (text.trim() === '' && whenEmpty !== undefined) return whenEmpty;
  const document = parse(text);
  checkDocument(document, limits);
  return document;
}

/** Throws {@link HttpRejection} 413 when the body is too long. */
export async function readBytes(request: Request): Promise<Uint8Array> {
  const declared = request.headers.get('content-length');
  if (declared !== null && Number(declared) > bodyBytesMax) throw tooLong();
  try {
    return declared === null ? await readChunks(request) : new Uint8Array(await request.arrayBuffer());
  } catch (error) {
    if (error instanceof HttpRejection) throw error;
    // The client has disconnected: not a service error, and no one reads the response.
    throw new HttpRejection('unreadable', 'The body is incomplete: send it again.', { cause: error });
  }
}

async function readChunks(request: Request): Promise<Uint8Array> {
  const bytes = collectBytes();
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength;
    if (length > bodyBytesMax) throw tooLong();
    bytes.add(chunk);
  }
  return bytes.whole();
}

const tooLong = (): HttpRejection => new HttpRejection('too_long', `The body is longer than ${bodyBytesMax} bytes.`);

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Throws {@link HttpRejection} 400 without a code when the body is not UTF-8. */
export function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new HttpRejection('unreadable', 'The body is not UTF-8 text: send JSON.', { cause });
  }
}

function parse(text: string): unknown {
  if (text.trim() === '') throw new HttpRejection('unreadable', 'The body is empty: send JSON.');
  try {
    return JSON.parse(text);
  } catch (cause) {
    // V8 also quotes the text, which may hold secrets.
    const place = cause instanceof Error ? / \(line \d+ column \d+\)$/.exec(cause.message)?.[0] : undefined;
    throw new HttpRejection('unreadable', `The body is not JSON${place ?? ''}.`, { cause });
  }
}
