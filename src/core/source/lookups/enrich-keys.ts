import type { RecordLookups } from '../../expressions/evaluation.ts';
import type { Enrichment } from '../../spec/schema/lookup-schema.ts';
import type { EvaluateEach } from '../request/evaluate-each.ts';
import type { Source } from '../source.ts';
import { lookupKeyText } from './lookup-key-text.ts';

/** A record whose key is sought. */
export interface Keyed {
  readonly record: unknown;
  /** What earlier steps found for it. */
  readonly found: RecordLookups;
  /** Identifies the record where the step has no key. */
  readonly identity: string;
}

/** The request of a step for one record. */
export type RecordKey =
  | { readonly kind: 'key'; readonly key: unknown; readonly text: string }
  /** `when` is false, or there is no key. */
  | { readonly kind: 'none' }
  /** The expressions fail on the record. */
  | { readonly kind: 'invalid'; readonly message: string };

/** The key of each record. */
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

/** The key is not evaluated where `when` is false: it may fail there. */
function expressionOf({ key, when }: Pick<Enrichment, 'key' | 'when'>): string {
  if (when === undefined) return key ?? 'true';
  return `($boolean((${when}\n)) ? (${key ?? 'true'}\n))`;
}

/** The values that an expression mentions: only these are sent with every record. */
const rootsIn = (expression: string, { params, each }: Pick<Source, 'params' | 'each'>) => ({
  ...(/\bparams\b/.test(expression) ? { params } : {}),
  ...(/\beach\b/.test(expression) ? { each } : {}),
});
