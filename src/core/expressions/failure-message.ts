import { cutText } from '../json/cut-text.ts';
import { storableText } from '../json/storable-text.ts';
import type { EvaluationFailure } from './evaluation.ts';

/** Longest message that reaches a caller; JSONata's own doubles with every nested failure. */
const messageLengthMax = 500;

/** Leaves room for code and position. */
const textLengthMax = messageLengthMax - 150;

/**
 * The failure for an error of JSONata, without values of the record. The text that an author gave to `$error` or
 * `$assert` stays, and so do the tokens of a syntax error, which come from the expression. A database can hold the
 * message: it ends up in a quarantine row or as the error of the run.
 */
export function describeFailure(error: unknown): EvaluationFailure {
  const { code, message, position, ...rest } = readError(error);
  const safe = showsValues(code) ? withoutValues(message, rest) : message;
  const place = typeof position === 'number' ? ` (at character ${position})` : '';
  // Cut before searching: a message may be as long as the texts of a record.
  const shown = cutText(storableText(cutText(safe, textLengthMax)), textLengthMax);
  const hint = code !== undefined && argumentCodes.has(code) && rest.value === null ? nullHint : '';
  const text = `${code === undefined ? '' : `${storableText(code)}: `}${shown}${hint}${place}`;
  return { code: code === 'D1012' ? 'timeout' : 'threw', message: cutText(text, messageLengthMax) };
}

interface JsonataError {
  readonly code?: string;
  readonly message: string;
  readonly position?: unknown;
  readonly value?: unknown;
  readonly value2?: unknown;
  readonly exp?: unknown;
}

function readError(error: unknown): JsonataError {
  if (typeof error !== 'object' || error === null) return { message: 'The expression failed.' };
  const { code, message, position, value, value2, exp }: Partial<Record<keyof JsonataError, unknown>> = error;
  return {
    ...(typeof code === 'string' && { code: code.slice(0, 10) }),
    message: typeof message === 'string' ? message : 'The expression failed.',
    position,
    value,
    value2,
    exp,
  };
}

/** An argument, or the context in its place, has a type that the function does not take. */
const argumentCodes = new Set(['T0410', 'T0411', 'T0412']);

/** Null is the usual cause: here it is not a missing value, as in other languages. */
const nullHint = ': it is null. Write x ? $f(x) : null, or in a transform set transformNulls: missing';

/** Errors whose values are our limits, not data. */
const valuesOfOurs = new Set(['D1011', 'D1012', 'D2014', 'D2015']);

const showsValues = (code: string | undefined): boolean =>
  code !== undefined && !code.startsWith('S') && !valuesOfOurs.has(code);

function withoutValues(message: string, { value, value2, exp }: Omit<JsonataError, 'message'>): string {
  return [value, value2, exp].reduce<string>((text, item) => {
    const shown = JSON.stringify(item);
    return shown === undefined || shown === '""' ? text : text.replaceAll(shown, '(value)');
  }, message);
}
