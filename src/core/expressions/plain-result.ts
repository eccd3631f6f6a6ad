import { isJsonObject } from '../json/is-json-object.ts';
import { jsonLimits, textIssue } from '../json/json-limits.ts';
import type { EvaluationFailure } from './evaluation.ts';

const resultLengthMax = 1_048_576;

/**
 * The response is `{"v": value}`, `{}` for undefined, or a failure. Checks the value first, because JSON turns
 * `Infinity` into null, a function into nothing, and a small graph of shared parts into endless text.
 */
export function plainResult(value: unknown, options: { readonly objectOnly: boolean }): string {
  if (options.objectOnly && !isPlainObject(value)) {
    return failure('not_object', `The expression must return an object, not ${kindOf(value)}.`);
  }
  if (value === undefined) return '{}';
  const issue = findIssue(value);
  if (issue !== null) return failure(issue.code, issue.message);
  const text = JSON.stringify(value);
  return text.length > resultLengthMax ? failure('too_large', tooLong) : `{"v":${text}}`;
}

const tooLong = `The result is longer than ${resultLengthMax / 1_048_576} MiB of JSON.`;

const failure = (code: EvaluationFailure['code'], message: string): string => JSON.stringify({ code, message });

const isPlainObject = (value: unknown): boolean => isJsonObject(value) && !isFunction(value);

/** JSONata's lambdas and built-in functions are objects with a marker. */
const isFunction = (value: object): boolean =>
  Object.hasOwn(value, '_jsonata_lambda') || Object.hasOwn(value, '_jsonata_function');

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing (no value was selected)';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'a function' : `a ${typeof value}`;
}

/**
 * Unlike `findJsonIssue`, refuses functions and limits the length of all texts together. Allows undefined and the
 * prototype's names, which JSON text carries safely.
 */
function findIssue(root: unknown): EvaluationFailure | null {
  const pending: unknown[] = [root];
  const depths: number[] = [1];
  let nodes = 0;
  let length = 0;
  while (pending.length > 0) {
    const value = pending.pop();
    const depth = depths.pop() ?? 1;
    nodes += 1;
    if (typeof value === 'string') length += value.length;
    if (nodes + pending.length > jsonLimits.nodesMax || length > resultLengthMax) {
      return {
        code: 'too_large',
        message: `The result has more than ${jsonLimits.nodesMax} values or ${resultLengthMax / 1_048_576} MiB of text.`,
      };
    }
    if (typeof value !== 'object' || value === null) {
      const message = scalarIssue(value);
      if (message !== null) return { code: 'unsupported_value', message };
      continue;
    }
    if (isFunction(value)) return { code: 'unsupported_value', message: functionMessage };
    if (depth > jsonLimits.depthMax) {
      return { code: 'too_large', message: `The result is nested deeper than ${jsonLimits.depthMax} levels.` };
    }
    if (!Array.isArray(value)) {
      const key = Object.keys(value).find((name) => textIssue(name) !== null);
      if (key !== undefined)
        return {
          code: 'unsupported_value',
          message: 'A property name of the result contains NUL or half of a surrogate pair.',
        };
    }
    const children: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (let index = 0; index < children.length; index += 1) {
      pending.push(children[index]);
      depths.push(depth + 1);
    }
  }
  return null;
}

const functionMessage = 'The result contains a function.';

function scalarIssue(value: unknown): string | null {
  if (typeof value === 'function') return functionMessage;
  if (typeof value === 'number' && !Number.isFinite(value))
    return 'The result contains a number that JSON does not allow (infinite or NaN).';
  if (typeof value !== 'string') return null;
  const issue = textIssue(value);
  return issue === null ? null : `A text of the result ${issue}.`;
}
