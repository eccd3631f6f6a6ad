import type { RecordLookups } from '../../expressions/evaluation.ts';
import { arrayOnPath, compilePlainPath } from '../../expressions/plain-path.ts';
import { mapWithPauses } from '../../work/map-with-pauses.ts';
import type { RecordRoots } from '../read/select-records.ts';
import type { Source } from '../source.ts';

/** `value` is undefined if the expression selects nothing. */
export type EachResult =
  | { readonly ok: true; readonly value: unknown }
  /** `message` is safe to show. */
  | { readonly ok: false; readonly message: string };

/** Failures are isolated per value. */
export type EvaluateEach = (
  expression: string,
  values: readonly unknown[],
  /** Joins `$lookups` for each value alone. */
  own?: readonly RecordLookups[],
) => Promise<readonly EachResult[]>;

/** Reads plain paths and `$` in this process; expressions see `params`, `each`, `lookups` and `run` as `$name`. */
export function createEvaluateEach(source: Pick<Source, 'evaluator' | keyof RecordRoots>): EvaluateEach {
  const { evaluator, params, each, lookups, run } = source;
  const bindings = { params, each, lookups, run };
  const now = new Date(run.startedAt);
  return async (expression, values, own) => {
    const plain = plainReader(expression);
    const read = plain === null ? [arrayOnPath] : await mapWithPauses(values, plain);
    if (!read.includes(arrayOnPath)) return read.map((value) => ({ ok: true, value }));
    const wrapped = `( $result := (${expression}\n); (1).{ "value": $result } )`;
    const task = { expression: wrapped, records: values, bindings, now, nulls: 'keep' } as const;
    const results = await evaluator.transform({ ...task, recordLookups: own ?? null });
    return results.map((result) =>
      result.ok ? { ok: true, value: result.value['value'] } : { ok: false, message: result.failure.message },
    );
  };
}

/** `null` if only JSONata can read it, and for `lookups`, which is not read from the value. */
function plainReader(expression: string): ((value: unknown) => unknown) | null {
  const text = expression.trim();
  if (text === '$') return (value) => value;
  return /^lookups\b/.test(text) ? null : compilePlainPath(text);
}
