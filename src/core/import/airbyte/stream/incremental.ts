import { type Component, isTrue, partOf, pathAt, refuseType, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { durationText, parseDuration } from '../jinja/durations.ts';
import { instantOf } from '../jinja/macros.ts';
import { JinjaError } from '../jinja/syntax.ts';
import { formatTime, isIso, readTime } from '../jinja/time-format.ts';
import { computed, pathValue, type Value } from '../jinja/value.ts';
import { asText, isObject } from '../objects.ts';
import { refuse } from '../refusal.ts';
import { evaluate, knownText } from '../render.ts';
import { dynamicDuration, staticDuration } from './cursor-durations.ts';
import { cursorForm } from './cursor-form.ts';
import { startScope } from './scopes.ts';

/** How a stream is read by its cursor. */
export interface Reading {
  /** The field that records are filtered and ordered by, as the record has it. */
  readonly field: string;
  /** JSONata of a field that `map` adds, where the cursor of the record is in several forms. */
  readonly hidden: { readonly name: string; readonly code: string } | null;
  /** Names of the slice, in requests. */
  readonly names: ReadonlyMap<string, Value>;
  readonly start: Value;
  readonly end: Value | null;
  readonly filtersHere: boolean;
  /** The block of the spec; windows only where the request has an end. */
  block(usesEnd: boolean): Readonly<Record<string, unknown>>;
}

interface Setting {
  readonly config: Config;
  /** Every run reads all: what the watermark would bound begins at the start. */
  readonly full: boolean;
}

/** Reads `incremental_sync`; null: the stream has none. */
export function readIncremental(stream: Component, setting: Setting): Reading | null {
  const cursor = partOf(stream, 'incremental_sync');
  if (cursor === null) return null;
  if (cursor.type === 'DatetimeBasedCursor') return readDatetimeCursor(cursor, setting);
  if (cursor.type === 'IncrementingCountCursor') return readCountCursor(cursor, setting);
  return refuseType(cursor, 'DatetimeBasedCursor and IncrementingCountCursor are converted');
}

function fieldOf(cursor: Component, config: Config): string {
  const at = pathAt(cursor, 'cursor_field');
  const field = knownText(textOf(cursor, 'cursor_field') ?? '', startScope({ component: cursor, config }), at);
  return /^[\p{L}\p{N}_@#][\p{L}\p{N}_@#:-]*$/u.test(field)
    ? field
    : refuse(at, `the name ${JSON.stringify(field.slice(0, 100))} cannot be a cursor here`);
}

function readCountCursor(cursor: Component, { config, full }: Setting): Reading {
  const field = fieldOf(cursor, config);
  const given = valueOf(cursor, 'start_value') ?? 0;
  const at = pathAt(cursor, 'start_value');
  const start =
    typeof given === 'number'
      ? computed('number', String(given))
      : evaluate(asText(given), startScope({ component: cursor, config }), at);
  const from = full ? start : pathValue('window.from', 'number');
  const initial = typeof given === 'number' ? given : `{{ ${start.code} }}`;
  return {
    field,
    hidden: null,
    names: new Map(),
    start: from,
    end: null,
    filtersHere: false,
    block: () => ({ kind: 'cursor', cursor: { field, type: 'integer' }, initial, order: 'none' }),
  };
}

function readDatetimeCursor(cursor: Component, { config, full }: Setting): Reading {
  if (partOf(cursor, 'clamping'))
    refuse(pathAt(cursor, 'clamping'), 'windows that begin with a day, week or month have no counterpart');
  const field = fieldOf(cursor, config);
  const format = textOf(cursor, 'datetime_format');
  if (format === undefined) return refuse(cursor.path, 'it has no datetime_format');
  const form = cursorForm(cursor, { field, format });
  const start = readMoment(cursor, 'start_datetime', { config, format });
  if (start === null) return refuse(cursor.path, 'it has no start_datetime');
  const step = stepOf(cursor, config);
  const end = readEnd(cursor, { config, format, hasStep: step !== null });
  const lookback = lookbackOf(cursor, config);
  const filtersHere = isTrue(cursor, 'is_client_side_incremental') || isTrue(cursor, 'is_data_feed');
  if (filtersHere && lookback.shift !== null)
    refuse(
      pathAt(cursor, 'lookback_window'),
      'a lookback that a connection decides cannot bound records that are filtered here',
    );
  const fromMs = full ? start.ms : shifted('$toMillis(window.from)', lookback.shift);
  const toMs = endMs({ full, step: step !== null && !full ? granularityOf(cursor) : null, end: end.ms });
  const fromText = timeText(fromMs, format, pathAt(cursor, 'datetime_format'));
  const toText = timeText(toMs, format, pathAt(cursor, 'datetime_format'));
  return {
    field,
    hidden: form.hidden,
    names: new Map([
      [
        knownText(
          textOf(cursor, 'partition_field_start') ?? 'start_time',
          startScope({ component: cursor, config }),
          cursor.path,
        ),
        fromText,
      ],
      [
        knownText(
          textOf(cursor, 'partition_field_end') ?? 'end_time',
          startScope({ component: cursor, config }),
          cursor.path,
        ),
        toText,
      ],
    ]),
    start: fromText,
    end: toText,
    filtersHere,
    block: (usesEnd) => ({
      kind: 'cursor',
      cursor: { field: form.hidden?.name ?? field, ...form.settings, sendAs: 'iso' },
      initial: start.initial,
      order: isTrue(cursor, 'is_data_feed') ? 'desc' : 'none',
      ...(end.settle === null ? {} : { settle: end.settle }),
      ...(lookback.fixed === null ? {} : { lookback: lookback.fixed }),
      ...(step !== null && usesEnd ? { window: { size: step } } : {}),
      ...(filtersHere ? { clientFilter: true } : {}),
    }),
  };
}

/** A text of the cursor's format, of which the instant is known. */
function timeText(ms: string, format: string, at: string): Value {
  const code = formatTime(ms, format);
  if (code === null) return refuse(at, `times cannot be written in the format ${JSON.stringify(format.slice(0, 100))}`);
  return { ...computed('text', code), instant: ms };
}

const shifted = (ms: string, shift: string | null): string =>
  shift === null ? ms : `($exists(watermark) and watermark != null ? ${ms} - ${shift} : ${ms})`;

/** The last window ends with the run; those before end one step of the cursor before the next begins. */
function endMs({
  full,
  step,
  end,
}: {
  readonly full: boolean;
  readonly step: number | null;
  readonly end: string | null;
}): string {
  const to = full ? '$toMillis(run.startedAt)' : '$toMillis(window.to)';
  const window = step === null || step < 1 ? to : `(window.to < run.startedAt ? ${to} - ${step} : ${to})`;
  return end === null ? window : `$min([${window}, ${end}])`;
}

interface Moment {
  /** JSONata of milliseconds, in a request. */
  readonly ms: string;
  /** `incremental.initial`. */
  readonly initial: string;
  readonly value: Value;
}

/** Reads a time that is a text or a MinMaxDatetime. */
function readMoment(
  cursor: Component,
  key: string,
  { config, format }: { readonly config: Config; readonly format: string },
): Moment | null {
  const given = valueOf(cursor, key);
  if (given === undefined || given === '') return null;
  const part = isObject(given) ? partOf(cursor, key) : null;
  const component = part ?? cursor;
  const at = part === null ? pathAt(cursor, key) : pathAt(part, 'datetime');
  const template = part === null ? asText(given) : (textOf(part, 'datetime') ?? '');
  const form = (part === null ? undefined : textOf(part, 'datetime_format')) ?? format;
  const scope = startScope({ component, config });
  const value = evaluate(template, scope, at);
  const own = momentMs(value, form, at);
  const bounds = (['min_datetime', 'max_datetime'] as const).flatMap((bound) => {
    const text = part === null ? undefined : textOf(part, bound);
    if (part === null || text === undefined || text === '') return [];
    const ms = momentMs(evaluate(text, scope, pathAt(part, bound)), form, pathAt(part, bound));
    return [{ name: bound === 'min_datetime' ? '$max' : '$min', ms }];
  });
  const ms = bounds.reduce((code, bound) => `${bound.name}([${code}, ${bound.ms}])`, own);
  return { ms, value, initial: initialOf(value, { form, ms, simple: bounds.length === 0 }) };
}

function initialOf(
  value: Value,
  { form, ms, simple }: { readonly form: string; readonly ms: string; readonly simple: boolean },
): string {
  if (simple && isIso(form)) {
    const known = value.constant?.value;
    if (typeof known === 'string' && /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?$/.test(known)) return known;
    if (value.plain === true && value.kind === 'text' && !value.constant) return `{{ ${value.code} }}`;
  }
  return `{{ $fromMillis(${ms}) }}`;
}

function momentMs(value: Value, format: string, at: string): string {
  try {
    if (value.kind === 'time' || value.kind === 'day') return value.code;
    if (value.instant !== undefined) return value.instant;
    const code = readTime(value.kind === 'text' ? value.code : `$string(${value.code})`, format);
    if (code !== null) return code;
    return isIsoText(value)
      ? instantOf(value, null, 0)
      : refuse(at, `times cannot be read in the format ${JSON.stringify(format.slice(0, 100))}`);
  } catch (error) {
    if (error instanceof JinjaError) return refuse(at, error.message);
    throw error;
  }
}

const isIsoText = (value: Value): boolean =>
  typeof value.constant?.value === 'string' && /^\d{4}-\d{2}-\d{2}/.test(value.constant.value);

interface End {
  /** Null: now. */
  readonly ms: string | null;
  /** The watermark stays behind an end that lies before now. */
  readonly settle: string | null;
}

/** An end that is not simply now. */
function readEnd(
  cursor: Component,
  setting: { readonly config: Config; readonly format: string; readonly hasStep: boolean },
): End {
  const moment = readMoment(cursor, 'end_datetime', setting);
  if (moment === null) return { ms: null, settle: null };
  const at = pathAt(cursor, 'end_datetime');
  const { value, ms } = moment;
  const code = value.code;
  if (!/\b(?:params|secrets)\./.test(ms)) {
    if (isNow(ms)) return { ms: null, settle: null };
    const days = daysBefore(code);
    if (days === null) return refuse(at, 'an end that is neither now nor some days before now has no counterpart');
    return { ms, settle: `P${days + 1}D` };
  }
  if (setting.hasStep) {
    return refuse(at, 'windows with an end that a connection decides have no counterpart; remove step or end_datetime');
  }
  return { ms, settle: null };
}

/** The time of the run, written and read again. */
const isNow = (ms: string): boolean =>
  !/\$millis\(\) [-%]|\$millis\(\) - /.test(ms.replaceAll(/\$millis\(\) - \$millis\(\) % 86400000/g, '$day')) &&
  ms.includes('$millis()') &&
  !ms.includes('$day') &&
  !/\[Y0001\]-\[M01\]-\[D01\]"/.test(ms);

/** How many days an end lies before now, rounded up; null: it cannot be known. */
function daysBefore(code: string): number | null {
  const moved = [...code.matchAll(/ - (\d+)\b(?! *%)/g)]
    .map(([, ms]) => Number(ms))
    .filter((ms) => ms !== 86_400_000 || !code.includes('% 86400000'));
  if (/ \+ \d/.test(code)) return null;
  const total = moved.reduce((sum, ms) => sum + ms, 0);
  return code.includes('$millis()') && total < 3_650 * 86_400_000 ? Math.ceil(total / 86_400_000) : null;
}

/** The size of a window; null: one window has all. Months and years get a fixed length, which changes no record. */
function stepOf(cursor: Component, config: Config): string | null {
  const template = textOf(cursor, 'step');
  if (template === undefined || template === '') return null;
  const at = pathAt(cursor, 'step');
  const text = staticDuration(template, { component: cursor, config, at }) ?? 'P30D';
  const parsed = parseDuration(text);
  if (parsed === null) return refuse(at, `${JSON.stringify(text.slice(0, 100))} is no duration`);
  const size = durationText(parsed, { month: 30, year: 365 });
  return size === 'PT0S' ? refuse(at, 'a window has no length') : size;
}

/** Milliseconds between the end of a window and the begin of the next. */
function granularityOf(cursor: Component): number | null {
  const text = textOf(cursor, 'cursor_granularity');
  const parsed = text === undefined ? null : parseDuration(text);
  return parsed === null ? null : parsed.ms + parsed.months * 30 * 86_400_000;
}

interface Lookback {
  readonly fixed: string | null;
  /** JSONata of milliseconds that a connection decides. */
  readonly shift: string | null;
}

function lookbackOf(cursor: Component, config: Config): Lookback {
  const template = textOf(cursor, 'lookback_window');
  if (template === undefined || template === '') return { fixed: null, shift: null };
  const at = pathAt(cursor, 'lookback_window');
  const found = dynamicDuration(template, { component: cursor, config, at });
  if (found === null) return { fixed: null, shift: null };
  if ('ms' in found) return { fixed: null, shift: found.ms };
  const parsed = parseDuration(found.text);
  if (parsed === null) return refuse(at, `${JSON.stringify(found.text.slice(0, 100))} is no duration`);
  return { fixed: durationText(parsed, { month: 31, year: 366 }), shift: null };
}
