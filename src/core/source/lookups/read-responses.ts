import { AppError } from '../../errors.ts';
import { storableJson } from '../../json/storable-json.ts';
import type { Enrichment } from '../../spec/schema/lookup-schema.ts';
import { createEvaluateEach, type EachResult } from '../request/evaluate-each.ts';
import type { Source } from '../source.ts';
import type { KeyResponse } from './enrich-response.ts';
import { lookupKeyText } from './lookup-key-text.ts';

/** Throws `spec_invalid` if an expression of a batch fails, and `source_rejected` if `batch.results` selects nothing. */
type ReadResponses = (body: unknown, texts: readonly string[]) => Promise<ReadonlyMap<string, KeyResponse>>;

/** In characters as JSON, as the value is sent with every record that it belongs to. */
const valueLengthMax = 1_000_000;

export function createReadResponses(
  source: Omit<Source, 'watermark'>,
  { batch, select = '$' }: Pick<Enrichment, 'batch' | 'select'>,
): ReadResponses {
  const evaluateEach = createEvaluateEach(source);

  const itemsByKey = async ({ results, keyBy }: NonNullable<Enrichment['batch']>, body: unknown) => {
    const [found] = await evaluateEach(results, [body]);
    const list = valueOf(found, 'batch.results');
    if (list === undefined || list === null) throw noResults();
    const items: readonly unknown[] = Array.isArray(list) ? list : [list];
    const keys = await evaluateEach(keyBy, items);
    return new Map(items.map((item, n) => [lookupKeyText(valueOf(keys[n], 'batch.keyBy')), item]));
  };

  return async (body, texts) => {
    const things = batch ? await itemsByKey(batch, body) : new Map(texts.map((text) => [text, body]));
    const present = texts.filter((text) => things.has(text));
    const selected = await evaluateEach(
      select,
      present.map((text) => things.get(text)),
    );
    const found = new Map(present.map((text, n) => [text, respondFrom(selected[n])]));
    return new Map(texts.map((text) => [text, found.get(text) ?? { kind: 'missing' }]));
  };
}

function respondFrom(result: EachResult | undefined): KeyResponse {
  if (!result?.ok) return failed(new AppError('spec_invalid', `select fails: ${result?.message ?? 'no result'}`));
  if (result.value === undefined) return { kind: 'found', value: undefined, length: 0 };
  // Replaces what no database can hold: it is an issue of one field that may not even be used.
  const text = storableJson(result.value);
  if (text.length <= valueLengthMax) return { kind: 'found', value: JSON.parse(text), length: text.length };
  const message = `the response is longer than ${valueLengthMax / 1_000_000} MB; keep the needed part with select`;
  return failed(new AppError('source_rejected', message));
}

/** A body without its results says nothing about the keys, as it may report a failure. */
const noResults = (): AppError =>
  new AppError(
    'source_rejected',
    'batch.results selects nothing in the response. Correct it in the spec, or try later.',
  );

const failed = (error: AppError): KeyResponse => ({ kind: 'failed', error });

function valueOf(result: EachResult | undefined, part: string): unknown {
  if (result?.ok) return result.value;
  throw new AppError('spec_invalid', `${part} fails on the response: ${result?.message ?? 'no result'}`);
}
