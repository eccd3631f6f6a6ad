import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { hasCode } from '../../error-code.ts';
import { AppError } from '../../errors.ts';
import type { HeldMemory } from '../../model/response-memory.ts';
import type { DecodeTurns } from './decode-turns.ts';
import type { ThreadResponse } from './xml-thread.ts';

/**
 * An XML document as an object with its root element as the only field. Attributes are `@` fields, text beside
 * attributes or elements is `#text`, elements without either are strings, repeated ones lists. Values are strings
 * without surrounding white space, CDATA unchanged.
 *
 * Throws `source_rejected`, never with content: malformed XML, a DOCTYPE, an entity other than XML's five, more than 64
 * levels, too large.
 */
export async function decodeXml(text: string, { turns, held }: XmlTurns): Promise<unknown> {
  if (text.length > lengthMax) throw tooLarge(`${lengthMax} characters`);
  if (text.length > inlineMax) {
    const pieces = await turns.inTurn(() => countPieces(text));
    await turns.takeMemory(2 * text.length + pieceBytes * pieces, held);
    return await turns.inTurn(() => parseInThread(text));
  }
  countPieces(text);
  const { parseXml } = await import('./parse-xml.ts');
  return text.length > shortMax ? await turns.inTurn(() => parseXml(text)) : parseXml(text);
}

interface XmlTurns {
  readonly turns: DecodeTurns;
  readonly held: HeldMemory;
}

export function xmlEncoding(bytes: Uint8Array): string | null {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 200));
  return /^<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]{1,40})["']/.exec(start)?.[1]?.toLowerCase() ?? null;
}

/** Characters that are parsed at once, without a turn. */
const shortMax = 10_000;

/** Characters that are parsed without a thread, in some 20 to 90 ms: starting one takes as long. */
const inlineMax = 100_000;

/** The parser takes about 0.2 s per million characters. */
const lengthMax = 16_777_216;

/** Each tag or attribute costs the parser up to 1 KB of memory and 10 µs. */
const piecesMax = 500_000;

const pieceBytes = 1000;

function countPieces(text: string): number {
  const piece = /<|=\s{0,9}["']/g;
  let pieces = 0;
  for (; piece.test(text); pieces += 1) {
    if (pieces === piecesMax) throw tooLarge(`${piecesMax} tags and attributes`);
  }
  return pieces;
}

/** A worker serves many orgs on one event loop, which a large document would block for seconds. */
async function parseInThread(text: string): Promise<unknown> {
  const thread = new Worker(new URL('./xml-thread.ts', import.meta.url), { workerData: text, resourceLimits });
  try {
    const [response]: readonly ThreadResponse[] = await Promise.race([once(thread, 'message'), ended(thread)]);
    if (response?.ok) return response.document;
    throw new AppError('source_rejected', response?.message ?? 'The response body is not XML.');
  } catch (error) {
    const isFull = hasCode(error, 'ERR_WORKER_OUT_OF_MEMORY');
    throw isFull ? tooLarge('fits into the memory for one page') : error;
  } finally {
    await thread.terminate();
  }
}

/** A thread that ends without a message would leave the turn of its org taken. */
async function ended(thread: Worker): Promise<never> {
  await once(thread, 'exit');
  throw new AppError('source_rejected', 'The response body is not XML that can be read.');
}

/** Twice the memory of the largest document measured. */
const resourceLimits = { maxOldGenerationSizeMb: 1024 };

const tooLarge = (what: string): AppError => refused(`has more than ${what}`, 'Ask for smaller pages.');

const refused = (what: string, advice: string): AppError =>
  new AppError('source_rejected', `The response body ${what}. ${advice}`);
