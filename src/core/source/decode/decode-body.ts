/**
 * The bodies of responses as values: first a gzip file or a zip archive is unpacked, then JSON, JSON Lines, CSV or XML is
 * read. Every step has a limit of bytes. This room sends nothing and selects no records.
 */

import { AppError } from '../../errors.ts';
import type { HttpResponse } from '../../model/http.ts';
import { lightBytes } from '../../model/response-memory.ts';
import type { ResponseSettings } from '../../spec/schema/resource-schema.ts';
import type { Source } from '../source.ts';
import { countFields, csvFieldBytes, decodeCsv } from './decode-csv.ts';
import { decodeJson, measureJson } from './decode-json.ts';
import { decodeJsonLines } from './decode-jsonl.ts';
import { charsetOf, decodeText } from './decode-text.ts';
import type { DecodeTurns } from './decode-turns.ts';
import { decodeXml, xmlEncoding } from './decode-xml.ts';
import { unpack } from './unpack.ts';

/** The settings that define how a body is read. */
type BodySettings = {
  readonly resource: { readonly response: DecoderSettings };
  readonly http: SizeLimit;
  readonly decodeTurns: DecodeTurns;
};
type DecoderSettings = Pick<ResponseSettings, 'decoder' | 'bigNumbers'>;
type SizeLimit = Pick<Source['http'], 'maxResponseBytes'>;

/** Memory that a value of a JSON text takes, and a name that no other object has (measured). */
const jsonValueBytes = 32;
const jsonNameBytes = 130;

const decoded = new WeakMap<HttpResponse, Promise<unknown>>();

/**
 * The body of a response, read by the resource's decoder; decoded once per response, however often it is called. A gzip
 * file or a zip archive is unpacked first. Throws `source_rejected` for a body that is not of that form.
 */
export async function decodeBody(response: HttpResponse, settings: BodySettings): Promise<unknown> {
  const earlier = decoded.get(response);
  if (earlier) return earlier;
  const body = decode(response, settings).finally(() => settings.decodeTurns.release(response.heldBytes ?? 0));
  decoded.set(response, body);
  return body;
}

/** Decodes a body like {@link decodeBody}; undefined for an error page in HTML and other bodies that do not decode. */
export async function tryDecodeBody(response: HttpResponse, settings: BodySettings): Promise<unknown> {
  try {
    return await decodeBody(response, settings);
  } catch (error) {
    if (error instanceof AppError && error.code === 'source_rejected') return undefined;
    throw error;
  }
}

/** Bytes of a body that becomes values in a millisecond or two. */
const shortBytes = 65_536;
async function decode(response: HttpResponse, { resource, http, decodeTurns }: BodySettings): Promise<unknown> {
  const { decoder, bigNumbers } = resource.response;
  const bytes = await unpack(response.body, http.maxResponseBytes);
  const charset = charsetOf(response.headers['content-type']);
  switch (decoder) {
    // JSON is UTF-8 for any content type (RFC 8259 8.1), and many APIs declare another charset.
    case 'json':
      return await decodeInTurn(decodeTurns, bytes, () => decodeJson(bytes, { bigNumbers }));
    case 'jsonl':
      return await decodeInTurn(decodeTurns, bytes, () => decodeJsonLines(bytes, { bigNumbers }));
    case 'csv':
      if (bytes.length > lightBytes) await decodeTurns.takeMemory(bytes.length + csvFieldBytes * countFields(bytes));
      return await decodeCsv(decodeText(bytes, charset));
    case 'xml':
      return await decodeXml(decodeText(bytes, charset ?? xmlEncoding(bytes)), decodeTurns);
    case 'text':
      return { text: decodeText(bytes, charset) };
  }
}

async function decodeInTurn(turns: DecodeTurns, bytes: Uint8Array, read: () => unknown): Promise<unknown> {
  if (bytes.length <= shortBytes) return read();
  if (bytes.length > lightBytes) {
    const { values, names } = await turns.run(() => measureJson(bytes));
    await turns.takeMemory(bytes.length + jsonValueBytes * values + jsonNameBytes * names);
  }
  return await turns.run(read);
}
