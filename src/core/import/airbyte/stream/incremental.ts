import { type Component, isTrue, partOf, pathAt, refuseType, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { formatTime } from '../jinja/time-format.ts';
import { computed, missing, pathValue, type Value } from '../jinja/value.ts';
import { asText } from '../objects.ts';
import { refuse } from '../refusal.ts';
import { evaluate, knownText } from '../render.ts';
import { granularityOf, lookbackOf, stepOf } from './cursor-durations.ts';
import { cursorForm } from './cursor-form.ts';
import { readEnd, readMoment } from './cursor-moments.ts';
import { startScope } from './scopes.ts';

export interface Reading {
  /** The field that records are filtered and ordered by, as the record has it. */
  readonly field: string;
  /** A field that `map` adds where the records have the cursor in several forms. */
  readonly hidden: { readonly name: string; readonly code: string } | null;
  readonly names: ReadonlyMap<string, Value>;
  readonly start: Value;
  readonly end: Value | null;
  readonly filtersHere: boolean;
  /** The cursor that earlier runs have reached, as a request writes it; nothing in a first run. */
  readonly reached: Value;
  readonly notes: readonly string[];
  /** The block of the spec, with windows only where the request has an end. */
  block(usesEnd: boolean): Readonly<Record<string, unknown>>;
}

interface Setting {
  readonly config: Config;
  /** Whether every run reads all; bounds that the watermark would set then begin at the start. */
  readonly full: boolean;
}

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
    reached: full ? missing : computed('number', `(${hasReached} ? watermark)`),
    notes: [],
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
  const end = readEnd(cursor, { config, format, hasStep: step !== null, start });
  const isFeed = isTrue(cursor, 'is_data_feed');
  const filtersHere = isTrue(cursor, 'is_client_side_incremental') || isFeed;
  const lookback = lookbackOf(cursor, config, filtersHere);
  const fromMs = full ? start.ms : shifted('$toMillis(window.from)', lookback.shift);
  const gap = step !== null && !full ? gapOf(granularityOf(cursor), format) : null;
  const toMs = endMs({ full, gap: typeof gap === 'number' ? gap : 0, end: end.ms });
  const fromText = timeText(fromMs, format, pathAt(cursor, 'datetime_format'));
  const lastText = timeText(toMs, format, pathAt(cursor, 'datetime_format'));
  const toText = gap === 'microsecond' && end.ms === null ? endInMicroseconds(lastText, format) : lastText;
  return {
    field,
    hidden: form.hidden,
    names: new Map([
      [sliceName(cursor, config, { option: 'partition_field_start', standard: 'start_time' }), fromText],
      [sliceName(cursor, config, { option: 'partition_field_end', standard: 'end_time' }), toText],
    ]),
    start: fromText,
    end: toText,
    filtersHere,
    reached: full ? missing : reachedText(format, pathAt(cursor, 'datetime_format')),
    notes: [end.note, lookback.note].filter((note) => note !== null),
    block: (usesEnd) => ({
      kind: 'cursor',
      cursor: {
        ...{ field: form.hidden?.name ?? field, ...form.settings, sendAs: 'iso' },
        ...(isFeed ? { missing: 'exclude' } : {}),
      },
      initial: start.initial,
      order: isFeed ? 'desc' : 'none',
      ...(end.settle === null ? {} : { settle: end.settle }),
      ...(lookback.fixed === null ? {} : { lookback: lookback.fixed }),
      ...(step !== null && usesEnd ? { window: { size: step } } : {}),
      ...(filtersHere ? { clientFilter: true } : {}),
    }),
  };
}

function sliceName(
  cursor: Component,
  config: Config,
  { option, standard }: { readonly option: string; readonly standard: string },
): string {
  return knownText(textOf(cursor, option) ?? standard, startScope({ component: cursor, config }), cursor.path);
}

function timeText(ms: string, format: string, at: string): Value {
  const code = formatTime(ms, format);
  if (code === null) return refuse(at, `times cannot be written in the format ${JSON.stringify(format.slice(0, 100))}`);
  return { ...computed('text', code), instant: ms };
}

function reachedText(format: string, at: string): Value {
  const { code } = timeText('$toMillis(watermark)', format, at);
  return computed('text', `(${hasReached} ? ${code})`);
}

/** JSONata for whether earlier runs have reached a cursor. */
const hasReached = '$type(watermark) != "null"';

export const readsReached = (part: unknown): boolean =>
  JSON.stringify(part).includes(JSON.stringify(hasReached).slice(1, -1));

const shifted = (ms: string, shift: string | null): string =>
  shift === null ? ms : `($exists(watermark) and watermark != null ? ${ms} - ${shift} : ${ms})`;

/** Between the end of a window and the start of the next: milliseconds, or one unit of a format with microseconds. */
function gapOf(granularity: number | null, format: string): number | 'microsecond' {
  if (granularity === null || granularity === 0) return 0;
  if (granularity >= 1) return granularity;
  if (format.includes('%f')) return 'microsecond';
  // A format without parts of milliseconds cuts them off.
  return format === '%s_as_float' || format === '%epoch_microseconds' ? 0 : 1;
}

/** The last window ends with the run; earlier ones end one unit of the cursor before the next begins. */
function endMs({
  full,
  gap,
  end,
}: {
  readonly full: boolean;
  readonly gap: number;
  readonly end: string | null;
}): string {
  const to = full ? '$toMillis(run.startedAt)' : '$toMillis(window.to)';
  const window = gap === 0 ? to : `(window.to < run.startedAt ? ${to} - ${gap} : ${to})`;
  return end === null ? window : `$min([${window}, ${end}])`;
}

/** The last microsecond of a window; `last` in the last window. */
function endInMicroseconds(last: Value, format: string): Value {
  const code = formatTime('($toMillis(window.to) - 1)', format)?.replaceAll('[f001]000', '[f001]999');
  return code === undefined ? last : { ...last, code: `(window.to < run.startedAt ? ${code} : ${last.code})` };
}
