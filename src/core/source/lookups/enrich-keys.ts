import type { RecordLookups } from '../../expressions/evaluation.ts';
import type { Enrichment } from '../../spec/schema/lookup-schema.ts';
import type { EvaluateEach } from '../request/evaluate-each.ts';
import type { Source } from '../source.ts';
import { lookupKeyText } from './lookup-key-text.ts';

export interface Keyed {
  readonly record: unknown;
  readonly found: RecordLookups;
  /** Identifies the record if the step has no key. */
  readonly identity: string;
}

export type RecordKey =
  | { readonly kind: 'key'; readonly key: unknown; readonly text: string }
  /** `when` is false, or the key is missing. */
  | { readonly kind: 'none' }
  | { readonly kind: 'invalid'; readonly message: string };

export async function keysOf(
  step: Pick<Enrichment, 'key' | 'when'>,
  records: readonly Keyed[],
  { source, evaluateEach }: { readonly source: Pick<Source, 'params' | 'each'>; readonly evaluateEach: EvaluateEach },
): Promise<readonly RecordKey[]> {
  const { key, when } = step;
  if (key === undefined && when === undefined) return records.map(({ identity }) => keyless(identity));
  const expression = expressionOf(step);
  const roots = rootsIn(expression, source);
  const inputs = records.map(({ record }) => ({ ...roots, record }));
  const results = await evaluateEach(
    expression,
    inputs,
    records.map(({ found }) => found),
  );
  return results.map((result, n): RecordKey => {
    if (!result.ok) return { kind: 'invalid', message: result.message };
    const { value } = result;
    if (key === undefined) return value === true ? keyless(records[n]?.identity ?? '') : { kind: 'none' };
    if (value === undefined || value === null) return { kind: 'none' };
    const text = lookupKeyText(value);
    return text === null
      ? { kind: 'invalid', message: 'the key is not a text, number or boolean' }
      : { kind: 'key', key: value, text };
  });
}

const keyless = (identity: string): RecordKey => ({ kind: 'key', key: undefined, text: identity });

/** Evaluates the key only where `when` is true, as it may fail elsewhere. */
function expressionOf({ key, when }: Pick<Enrichment, 'key' | 'when'>): string {
  if (when === undefined) return key ?? 'true';
  return `($boolean((${when}\n)) ? (${key ?? 'true'}\n))`;
}

/** Only values that the expression mentions are sent with every record. */
const rootsIn = (expression: string, { params, each }: Pick<Source, 'params' | 'each'>) => ({
  ...(/\bparams\b/.test(expression) ? { params } : {}),
  ...(/\beach\b/.test(expression) ? { each } : {}),
});
