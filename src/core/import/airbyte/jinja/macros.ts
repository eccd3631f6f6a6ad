import { resolveTimezone } from '../../../schedule/timezone.ts';
import type { Arguments } from './arguments.ts';
import { durationText, parseDuration } from './durations.ts';
import { shown, text } from './python.ts';
import { JinjaError } from './syntax.ts';
import { formatTime, readIso, readTime } from './time-format.ts';
import { computed, constant, quote, type Value } from './value.ts';

/** The time of the run, as JSONata's own functions give it everywhere. */
const now = '$millis()';
const dayMs = 86_400_000;

type Macro = (args: Arguments, at: number) => Value;

const macros: Readonly<Record<string, Macro>> = {
  now_utc: () => computed('time', now),
  today_utc: () => computed('day', `(${now} - ${now} % ${dayMs})`),
  today_with_timezone: (args, at) => {
    const zone = required(args.get(0, 'timezone'), 'today_with_timezone', at);
    const known = zone.constant?.value;
    if (known === 'UTC' || known === 'Etc/UTC' || known === 'GMT')
      return computed('day', `(${now} - ${now} % ${dayMs})`);
    if (zone.constant && (typeof known !== 'string' || resolveTimezone(known) === null))
      throw new JinjaError('reads the current day in an unknown time zone', at);
    const day = `$fromMillis(${now}, "[Y0001]-[M01]-[D01]", $zoneOffset(${now}, ${zone.code}))`;
    return computed('day', `$toMillis(${day})`);
  },
  day_delta: dayDelta,
  duration: durationOf,
  format_datetime: formatDatetime,
  str_to_datetime: (args, at) => {
    const given = required(args.get(0, 's'), 'str_to_datetime', at);
    return computed('time', given.instant ?? readIso(text(given).code));
  },
  timestamp: (args, at) => timestampOf(required(args.get(0, 'dt'), 'timestamp', at)),
  max: (args, at) => extreme('$max', args, at),
  min: (args, at) => extreme('$min', args, at),
  sanitize_url: (args, at) => {
    const value = text(required(args.get(0, 'value'), 'sanitize_url', at));
    return computed('text', `$replace($encodeUrlComponent(${value.code}), "%20", "+")`);
  },
  camel_case_to_snake_case: (args, at) => {
    const value = text(required(args.get(0, 'value'), 'camel_case_to_snake_case', at));
    return computed('text', `$lowercase($replace($replace(${value.code}, /([A-Z])/, "_$1"), /^_/, ""))`);
  },
};

/** Throws `JinjaError` for a macro without counterpart. */
export function callMacro(name: string, args: Arguments, at: number): Value {
  const macro = Object.hasOwn(macros, name) ? macros[name] : undefined;
  if (macro) return macro(args, at);
  const why = name === 'generate_uuid' ? ', whose value changes with each attempt' : '';
  throw new JinjaError(`calls \`${name.slice(0, 100)}\`${why}, which has no counterpart`, at);
}

const required = (value: Value | null, name: string, at: number): Value => {
  if (value !== null) return value;
  throw new JinjaError(`calls ${name} without its argument`, at);
};

function dayDelta(args: Arguments, at: number): Value {
  const days = required(args.get(0, 'num_days'), 'day_delta', at);
  const format = args.get(1, 'format')?.constant?.value ?? '%Y-%m-%dT%H:%M:%S.%f%z';
  const known = days.constant?.value;
  const moved =
    typeof known === 'number'
      ? `(${now} ${known < 0 ? '-' : '+'} ${Math.abs(known) * dayMs})`
      : `(${now} + ${days.code} * ${dayMs})`;
  return formatted(moved, format, at);
}

function formatted(ms: string, format: unknown, at: number): Value {
  const code = typeof format === 'string' ? formatTime(ms, format) : null;
  if (code === null)
    throw new JinjaError(`has the time format ${JSON.stringify(format)}, which has no counterpart`, at);
  return computed('text', code);
}

function durationOf(args: Arguments, at: number): Value {
  const given = required(args.get(0, 'datestring'), 'duration', at);
  const known = given.constant?.value;
  const parsed = typeof known === 'string' ? parseDuration(known) : null;
  if (parsed === null) throw new JinjaError('has a duration that is computed or cannot be read', at);
  const code = quote(durationText(parsed, { month: 30, year: 365 }));
  return { kind: 'duration', code, constant: { value: parsed } };
}

/** Milliseconds of a value that the CDK takes for a time. */
export function instantOf(value: Value, inputFormat: string | null, at: number): string {
  if (value.kind === 'time' || value.kind === 'day') return value.code;
  if (value.instant !== undefined) return value.instant;
  if (inputFormat !== null) {
    const code = readTime(text(value).code, inputFormat);
    if (code === null)
      throw new JinjaError(`has the time format ${JSON.stringify(inputFormat)}, which cannot be read here`, at);
    return code;
  }
  if (value.kind === 'number') return `(${value.code} * 1000)`;
  const iso = readIso(value.kind === 'text' ? value.code : `$string(${value.code})`);
  return value.kind === 'any' ? `($type(${value.code}) = "number" ? ${value.code} * 1000 : ${iso})` : iso;
}

function formatDatetime(args: Arguments, at: number): Value {
  const value = required(args.get(0, 'dt'), 'format_datetime', at);
  const format = required(args.get(1, 'format'), 'format_datetime', at).constant?.value;
  const input = args.get(2, 'input_format');
  if (input !== null && typeof input.constant?.value !== 'string')
    throw new JinjaError('has a time format that is computed', at);
  return formatted(instantOf(value, input === null ? null : shown(input.constant?.value), at), format, at);
}

function timestampOf(value: Value): Value {
  if (value.kind === 'number') return computed('number', `$floor(${value.code})`);
  if (value.kind === 'time' || value.kind === 'day') return computed('number', `(${value.code} / 1000)`);
  if (value.instant !== undefined) return computed('number', `(${value.instant} / 1000)`);
  const read = `(${readIso(text(value).code)} / 1000)`;
  if (value.kind === 'text') return computed('number', read);
  return computed('number', `($type(${value.code}) = "number" ? $floor(${value.code}) : ${read})`);
}

/** Takes numbers, texts or times; a single argument gives its items. */
function extreme(name: '$max' | '$min', args: Arguments, at: number): Value {
  const values = Array.from({ length: args.count }, (_, index) => required(args.get(index), name, at));
  const [first, second] = values;
  if (first === undefined) throw new JinjaError(`calls ${name.slice(1)} without arguments`, at);
  if (second === undefined) return computed('any', `${name}(${first.code})`);
  if (values.every(({ constant: known }) => known)) return knownExtreme(name, values, at);
  const { kind } = first;
  if (!values.every((value) => value.kind === kind)) {
    if (values.some((value) => value.kind === 'time' || value.kind === 'day')) {
      throw new JinjaError(`compares a time with something that is not a time in ${name.slice(1)}`, at);
    }
  }
  const operator = name === '$max' ? '>=' : '<=';
  return values
    .slice(1)
    .reduce(
      (best, value) =>
        computed(
          best.kind === value.kind ? best.kind : 'any',
          `(${best.code} ${operator} ${value.code} ? ${best.code} : ${value.code})`,
        ),
      first,
    );
}

function knownExtreme(name: string, values: readonly Value[], at: number): Value {
  const known = values.map((value) => value.constant?.value);
  if (!known.every((value) => typeof value === 'number')) {
    if (!known.every((value) => typeof value === 'string'))
      throw new JinjaError('compares values of several types', at);
    const sorted = known.toSorted();
    return constant(name === '$max' ? sorted.at(-1) : sorted[0]);
  }
  return constant(name === '$max' ? Math.max(...known) : Math.min(...known));
}
