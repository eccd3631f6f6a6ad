import { promisify } from 'node:util';
import { brotliDecompress, constants, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { hasCode } from '../error-code.ts';
import { AppError } from '../errors.ts';
import type { HttpRequest, HttpResponse } from '../model/http.ts';
import { lightBytes, type ResponseMemory } from '../model/response-memory.ts';
import { createTurns } from '../work/turns.ts';
import { orgOfWork } from '../work-ids.ts';
import { requestWhole } from './whole-response.ts';

/** The first request of an attempt, or one that a redirect led to. */
export interface Hop {
  readonly method: HttpRequest['method'];
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface ExchangeLimits {
  /** Covers the body too: undici's own body limit is per chunk, and a slow drip outlives it. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** By default `timeoutMs` less {@link gapMs}. */
  readonly headersTimeoutMs: number | undefined;
  readonly responseBytesMax: number;
  /** Holds the memory of a body that is not light, and inflates one at a time for an org. */
  readonly memory: ResponseMemory;
}

/**
 * Reads the whole response, decoded. Throws `source_rejected` for a response that is too large or in an unknown encoding. Any
 * other error is a network error and worth a retry.
 */
export async function exchange(dispatcher: Dispatcher, hop: Hop, limits: ExchangeLimits): Promise<HttpResponse> {
  const { signal, timeoutMs, headersTimeoutMs, responseBytesMax, memory } = limits;
  const sent = await requestWhole(
    dispatcher,
    {
      origin: hop.url.origin,
      path: hop.url.pathname + hop.url.search,
      method: hop.method,
      headers: hop.headers,
      body: hop.body ?? null,
      headersTimeout: headersTimeoutMs ?? Math.max(gapMs, timeoutMs - gapMs),
      bodyTimeout: gapMs,
    },
    { signal, bytesMax: responseBytesMax, tooLarge: () => tooLarge(responseBytesMax), memory },
  );
  const { status, headers } = sent;
  const encoding = encodingOf(headers);
  const { held } = sent;
  if (encoding === null) return { status, headers, body: sent.body, url: hop.url, held };
  try {
    const light = await decodeLight(sent.body, encoding, responseBytesMax);
    const body = light ?? (await memory.inTurn(() => decode(sent.body, encoding, responseBytesMax)));
    if (light === null) held.hold(body.length);
    return { status, headers, body, url: hop.url, held };
  } catch (error) {
    held.release();
    throw error;
  }
}

/** `null` if the result is not light, since many of these fill the memory. */
async function decodeLight(bytes: Buffer, encoding: string, bytesMax: number): Promise<Buffer | null> {
  if (bytesMax <= lightBytes) return await decode(bytes, encoding, bytesMax);
  try {
    return await decode(bytes, encoding, lightBytes);
  } catch (error) {
    if (error instanceof TooLargeError) return null;
    throw error;
  }
}

export const acceptedEncodings = 'gzip, br, zstd, deflate';

/** Milliseconds without a byte; the headers may take longer when a request has more time in all. */
const gapMs = 15_000;

interface DecodeLimits {
  readonly maxOutputLength: number;
  readonly chunkSize: number;
}

type Decoder = (bytes: Buffer, limits: DecodeLimits, done: (error: Error | null, decoded: Buffer) => void) => void;

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  br: brotliDecompress,
  zstd: zstdDecompress,
  // RFC 9110 says zlib format, but many old servers send the bare stream.
  deflate: (bytes, options, done) => (((bytes[0] ?? 0) & 0x0f) === 8 ? inflate : inflateRaw)(bytes, options, done),
};

function encodingOf(headers: HttpResponse['headers']): string | null {
  const name = headers['content-encoding']?.trim().toLowerCase() ?? '';
  return name === '' || name === 'identity' ? null : name;
}

/** Unlike the zlib streams, the one-shot functions do respect `maxOutputLength` (measured), so a bomb stops at the cap. */
async function decode(bytes: Buffer, name: string, bytesMax: number): Promise<Buffer> {
  if (bytes.length === 0) return bytes;
  const decoder = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
  if (decoder === undefined) {
    throw new AppError(
      'source_rejected',
      `The response is not encoded in one of ${acceptedEncodings}. Check the content-encoding that the API sends.`,
    );
  }
  const giveBack = await places.take(orgOfWork());
  try {
    return await promisify(decoder)(bytes, { maxOutputLength: bytesMax, chunkSize: chunkBytes });
  } catch (error) {
    throw hasCode(error, 'ERR_BUFFER_TOO_LARGE') ? tooLarge(bytesMax) : error;
  } finally {
    giveBack();
  }
}

/** Bodies decoded at once: 77 bytes of Brotli take 16 MB, and a thread of libuv's pool for 80 ms. */
const places = createTurns({ max: 8, maxEach: 2 });

/** A page of 50 KB decodes in one step instead of four. */
const chunkBytes = constants.Z_DEFAULT_CHUNK * 4;

class TooLargeError extends AppError {}

const tooLarge = (bytesMax: number): AppError =>
  new TooLargeError(
    'source_rejected',
    `The response is larger than ${bytesMax} bytes: ask for smaller pages or raise http.maxResponseBytes.`,
  );
