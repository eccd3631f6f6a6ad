import { formatTime } from './time-format.ts';
import { computed, constant, quote, type Value } from './value.ts';

/** Whether Python takes the value for true, as a boolean of JSONata that is never missing. */
export function truth(value: Value): Value {
  if (value.constant) return constant(isTruthy(value.constant.value));
  if (value.kind === 'boolean' && value.plain !== true) return value;
  if (value.kind === 'time' || value.kind === 'day' || value.kind === 'duration') return constant(true);
  return computed('boolean', `(${value.code} ? true : false)`);
}

export function negation(value: Value): Value {
  return value.constant
    ? constant(!isTruthy(value.constant.value))
    : computed('boolean', `(${value.code} ? false : true)`);
}

export function isTruthy(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** `str(value)`; empty for a missing one. */
export function text(value: Value): Value {
  if (value.constant) return constant(value.constant.value === undefined ? '' : shown(value.constant.value));
  const { code, kind } = value;
  switch (kind) {
    case 'text':
      return value.absent === 'none' ? computed('text', `($exists(${code}) ? ${code} : "None")`) : value;
    case 'number':
      return computed('text', `$string(${code})`);
    case 'boolean':
      return computed('text', `(${code} ? "True" : "False")`);
    case 'none':
      return constant('None');
    case 'time':
      return computed('text', formatTime(code, '%Y-%m-%d %H:%M:%S.%f+00:00') ?? code);
    case 'day':
      return computed('text', formatTime(code, '%Y-%m-%d') ?? code);
    case 'duration':
    case 'list':
    case 'object':
    case 'any': {
      const missing = value.absent === 'none' ? `$exists(${code}) = false ? "None" : ` : '';
      return computed(
        'text',
        `(${missing}${code} = null ? "None" : ${code} = true ? "True" : ${code} = false ? "False" : $string(${code}))`,
      );
    }
  }
}

export function shown(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : repr(value);
}

function repr(value: unknown): string {
  if (typeof value === 'string') {
    const quotes = value.includes("'") && !value.includes('"') ? '"' : "'";
    return quotes + value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll(quotes, `\\${quotes}`) + quotes;
  }
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`;
  if (typeof value !== 'object' || value === null)
    return value === null || typeof value === 'boolean' ? shown(value) : JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${repr(key)}: ${repr(item)}`)
    .join(', ')}}`;
}

const integer = /^-?(?:0+|[1-9][0-9]{0,14})$/;
const decimal =
  /^-?(?:0|[1-9][0-9]{0,14})?(?:\.[0-9]+|[0-9]\.)(?:[eE][+-]?[0-9]{1,3})?$|^-?[0-9]{1,15}[eE][+-]?[0-9]{1,3}$/;

/** `ast.literal_eval` of a text, which the CDK applies to every result; the text itself if it is not a literal. */
export function literal(value: string): unknown {
  const trimmed = value.replace(/^[ \t]+/, '');
  if (integer.test(trimmed) || decimal.test(trimmed)) return Number(trimmed);
  if (trimmed === 'True') return true;
  if (trimmed === 'False') return false;
  if (trimmed === 'None') return null;
  if (/^(?:'[^'\\\n]*'|"[^"\\\n]*")$/.test(trimmed)) return trimmed.slice(1, -1);
  if (/^[[{]/.test(trimmed)) return structure(trimmed) ?? value;
  return value;
}

/** Python's lists and objects whose literals JSON can write too. */
function structure(textOf: string): unknown {
  try {
    const quoted = textOf.replaceAll(
      /'([^'"\\\n]*)'|"(?:[^"\\\n]|\\.)*"|\b(None|True|False)\b/g,
      (whole, single, word) => {
        if (single !== undefined) return JSON.stringify(single);
        return word === undefined ? whole : word === 'None' ? 'null' : word.toLowerCase();
      },
    );
    const parsed: unknown = JSON.parse(quoted);
    return parsed;
  } catch {
    return undefined;
  }
}

/** The value after `ast.literal_eval` of its text: a text of a number becomes the number. */
export function literalOf(value: Value): Value {
  if (value.constant)
    return typeof value.constant.value === 'string' && value.final !== true
      ? constant(literal(value.constant.value))
      : value;
  const { kind, code } = value;
  if (kind === 'time' || kind === 'day') return text(value);
  if (value.final === true || (kind !== 'text' && kind !== 'any')) return value;
  return { ...computed('any', literalCode(code)), ...(value.absent ? { absent: value.absent } : {}) };
}

const literalCode = (code: string): string =>
  [
    `($v := ${code}; $type($v) != "string" ? $v`,
    '$contains($v, /^-?(0+|[1-9][0-9]{0,14})$|^-?(0|[1-9][0-9]{0,14})\\.[0-9]+$/) ? $number($v)',
    '$v = "True" ? true',
    '$v = "False" ? false',
    '$v = "None" ? null',
    String.raw`$contains($v, /^("[^\\"]*"|'[^\\']*')$/) ? $substring($v, 1, $length($v) - 2)`,
    '$v)',
  ].join(' : ');

/** The CDK's `InterpolatedBoolean`. */
export function condition(value: Value): Value {
  if (value.constant) {
    const known = value.constant.value;
    return constant(isTruthy(known) && !falseTexts.includes(shown(known)));
  }
  if (value.kind === 'text' || value.kind === 'any') {
    const list = falseTexts.map(quote).join(', ');
    return computed('boolean', `(${value.code} in [${list}] ? false : ${value.code} ? true : false)`);
  }
  return truth(value);
}

const falseTexts: readonly string[] = ['False', 'false', '{}', '[]', '()', '', '0', '0.0', 'None', 'set()'];
