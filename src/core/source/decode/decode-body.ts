/**
 * The bodies of responses as values: first a gzip file or a zip archive is unpacked, then JSON, JSON Lines, CSV or XML is
 * read. Every step has a limit of bytes. This room sends nothing and selects no records.
 */

import { AppError } from '../../errors.ts';
import type { HttpResponse } from '../../model/http.ts';
import type { ResponseSettings } from '../../spec/schema/resource-schema.ts';
import type { Source } from '../source.ts';
import { decodeCsv } from './decode-csv.ts';
import { checkValues, decodeJson } from './decode-json.ts';
import { decodeJsonLines } from './decode-jsonl.ts';
import { charsetOf, decodeText } from './decode-text.ts';
import { decodeXml, xmlEncoding } from './decode-xml.ts';
import { unpack } from './unpack.ts';

/** The settings that define how a body is read. */
type BodySettings = { readonly resource: { readonly response: DecoderSettings }; readonly http: SizeLimit };
type DecoderSettings = Pick<ResponseSettings, 'decoder' | 'bigNumbers'>;
type SizeLimit = Pick<Source['http'], 'maxResponseBytes'>;

const decoded = new WeakMap<HttpResponse, Promise<unknown>>();

/**
 * The body of a response, read by the resource's decoder; decoded once per response, however often it is called. A gzip
 * file or a zip archive is unpacked first. Throws `source_rejected` for a body that is not of that form.
 */
export async function decodeBody(response: HttpResponse, settings: BodySettings): Promise<unknown> {
  const earlier = decoded.get(response);
  if (earlier) return earlier;
  const body = decode(response, settings);
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

async function decode(response: HttpResponse, { resource, http }: BodySettings): Promise<unknown> {
  const { decoder, bigNumbers } = resource.response;
  const bytes = await unpack(response.body, http.maxResponseBytes);
  if (decoder === 'json' || decoder === 'jsonl') checkValues(bytes);
  const charset = charsetOf(response.headers['content-type']);
  switch (decoder) {
    // JSON is UTF-8 for any content type (RFC 8259 8.1), and many APIs declare another charset.
    case 'json':
      return decodeJson(bytes, { bigNumbers });
    case 'jsonl':
      return decodeJsonLines(bytes, { bigNumbers });
    case 'csv':
      return decodeCsv(decodeText(bytes, charset));
    case 'xml':
      return decodeXml(decodeText(bytes, charset ?? xmlEncoding(bytes)));
    case 'text':
      return { text: decodeText(bytes, charset) };
  }
}
