/**
 * Decodes response bodies: unpacks gzip files and zip archives, then reads JSON, JSON Lines, CSV, XML or text, all with
 * byte limits. This room sends nothing and selects no records.
 */

import { AppError } from '../../errors.ts';
import type { JsonSize } from '../../json/json-size.ts';
import type { HttpResponse } from '../../model/http.ts';
import { type HeldMemory, lightBytes } from '../../model/response-memory.ts';
import type { ResponseSettings } from '../../spec/schema/resource-schema.ts';
import type { Source } from '../source.ts';
import { countFields, csvFieldBytes, decodeCsv } from './decode-csv.ts';
import { decodeJson, measureJson } from './decode-json.ts';
import { decodeJsonLines } from './decode-jsonl.ts';
import { charsetOf, decodeText } from './decode-text.ts';
import type { DecodeTurns } from './decode-turns.ts';
import { decodeXml, xmlEncoding } from './decode-xml.ts';
import { isPacked, unpack } from './unpack.ts';

type BodySettings = {
  readonly resource: { readonly response: DecoderSettings };
  readonly http: SizeLimit;
  readonly decodeTurns: DecodeTurns;
};
type DecoderSettings = Pick<ResponseSettings, 'decoder' | 'bigNumbers'>;
type SizeLimit = Pick<Source['http'], 'maxResponseBytes'>;

/** Memory of a value of a JSON text, and of a name that no other object has (measured). */
const jsonValueBytes = 32;
const jsonNameBytes = 130;

const decoded = new WeakMap<HttpResponse, Promise<unknown>>();
const unpackedBytes = new WeakMap<HttpResponse, number>();

/** Unpacked size of a decoded body. */
export const bytesOfBody = (response: HttpResponse): number => unpackedBytes.get(response) ?? response.body.length;

/** Decodes once per response, throwing `source_rejected` for a body of another form. */
export async function decodeBody(response: HttpResponse, settings: BodySettings): Promise<unknown> {
  const earlier = decoded.get(response);
  if (earlier) return earlier;
  const body = decode(response, settings).finally(() => response.held?.release());
  decoded.set(response, body);
  return body;
}

/** Like {@link decodeBody}, but `undefined` for bodies that do not decode, such as an error page in HTML. */
export async function tryDecodeBody(response: HttpResponse, settings: BodySettings): Promise<unknown> {
  try {
    return await decodeBody(response, settings);
  } catch (error) {
    if (error instanceof AppError && error.code === 'source_rejected') return undefined;
    throw error;
  }
}

/** Bodies up to this size decode in a millisecond or two. */
const shortBytes = 65_536;
async function decode(response: HttpResponse, { resource, http, decodeTurns: turns }: BodySettings): Promise<unknown> {
  const { decoder, bigNumbers } = resource.response;
  const held = response.held ?? turns.open();
  const bytes = await unpackInTurn(response.body, { bytesMax: http.maxResponseBytes, turns, held });
  unpackedBytes.set(response, bytes.length);
  /** Work that takes the thread waits for the turn of the org, unless it is short. */
  const inTurn = async <Result>(work: () => Result | Promise<Result>): Promise<Result> =>
    bytes.length <= shortBytes ? await work() : await turns.inTurn(work);
  const text = (charset: string | null) => inTurn(() => decodeText(bytes, charset));
  const charset = charsetOf(response.headers['content-type']);
  if (bytes.length > lightBytes && decoder !== 'xml' && decoder !== 'text')
    await turns.takeMemory(await inTurn(() => bytesOfValues(bytes, decoder)), held);
  switch (decoder) {
    // JSON is UTF-8 for any content type (RFC 8259 8.1), and many APIs declare another charset.
    case 'json':
      return await inTurn(() => decodeJson(bytes, { bigNumbers }));
    case 'jsonl':
      return await inTurn(() => decodeJsonLines(bytes, { bigNumbers }));
    case 'csv':
      return await decodeCsv(await text(charset));
    case 'xml':
      return await decodeXml(await text(charset ?? xmlEncoding(bytes)), { turns, held });
    case 'text':
      return { text: await text(charset) };
  }
}

interface Unpacking {
  readonly bytesMax: number;
  readonly turns: DecodeTurns;
  readonly held: HeldMemory;
}

async function unpackInTurn(body: Uint8Array, { bytesMax, turns, held }: Unpacking): Promise<Uint8Array> {
  if (!isPacked(body)) return body;
  const bytes = await turns.inTurn(() => unpack(body, bytesMax));
  if (bytes.length > lightBytes) held.hold(bytes.length);
  return bytes;
}

function bytesOfValues(bytes: Uint8Array, decoder: 'json' | 'jsonl' | 'csv'): number {
  if (decoder === 'csv') return csvFieldBytes * countFields(bytes) + 2 * bytes.length;
  return jsonMemory(bytes, measureJson(bytes));
}

export const jsonMemory = (bytes: Uint8Array, { values, names }: JsonSize): number =>
  bytes.length + jsonValueBytes * values + jsonNameBytes * names;
