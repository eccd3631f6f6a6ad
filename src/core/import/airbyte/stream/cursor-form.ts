import { timeFormatIssue } from '../../../time/time-format.ts';
import { type Component, pathAt, valueOf } from '../component.ts';
import { isIso } from '../jinja/time-format.ts';
import { step } from '../jinja/value.ts';
import { refuse } from '../refusal.ts';

export interface CursorForm {
  readonly settings: Readonly<Record<string, unknown>>;
  /** A field that `map` adds where one form cannot read all values. */
  readonly hidden: { readonly name: string; readonly code: string } | null;
}

export function cursorForm(
  cursor: Component,
  { field, format }: { readonly field: string; readonly format: string },
): CursorForm {
  const given = valueOf(cursor, 'cursor_datetime_formats');
  const at = pathAt(cursor, Array.isArray(given) ? 'cursor_datetime_formats' : 'datetime_format');
  const named = Array.isArray(given) ? given.filter((item): item is string => typeof item === 'string') : [];
  const formats = named.length > 0 ? named : [format];
  if (formats.every(isIso)) return { settings: { type: 'datetime' }, hidden: null };
  const seconds = formats.every((item) => item === '%s' || item === '%s_as_float');
  if (seconds) return { settings: { type: 'epoch_s' }, hidden: null };
  if (formats.every((item) => item === '%ms')) return { settings: { type: 'epoch_ms' }, hidden: null };
  const [only] = formats;
  if (formats.length === 1 && only !== undefined && only !== '%epoch_microseconds') {
    const known = only.replaceAll('%_ms', '%f');
    const issue = timeFormatIssue(known);
    if (issue !== null) return refuse(at, `the format ${JSON.stringify(only.slice(0, 100))} ${issue}`);
    return { settings: { type: 'datetime', format: known }, hidden: null };
  }
  return formats.every((item) => isIso(unspaced(item))) ? withoutSpace(field) : several(formats, field, at);
}

const unspaced = (format: string): string => format.replace(/ %z$/, '%z');

function withoutSpace(field: string): CursorForm {
  const code = `($c := ${step(field)}; $type($c) = "string" ? $replace($c, /^([^ ]+[ T][^ ]+) ([+-][0-9:]+|Z)$/, "$1$2") : $c)`;
  return { settings: { type: 'datetime' }, hidden: { name: 'airbyte_cursor', code } };
}

/** Numbers of seconds, milliseconds or microseconds, or ISO 8601: a field in ISO 8601 stands for all. */
function several(formats: readonly string[], field: string, at: string): CursorForm {
  const scales = new Set(formats.filter((item) => !isIso(item)).map((item) => scaleOf(item)));
  const [scale] = scales;
  if (scales.size !== 1 || scale === null || scale === undefined) {
    return refuse(at, `values in the formats ${formats.join(', ').slice(0, 200)} cannot be read as one cursor`);
  }
  const value = step(field);
  const code = `($c := ${value}; $type($c) = "number" or ($type($c) = "string" and $contains($c, /^-?[0-9]+(\\.[0-9]+)?$/)) ? $fromMillis($floor($number($c) * ${scale})) : $c)`;
  return { settings: { type: 'datetime' }, hidden: { name: 'airbyte_cursor', code } };
}

const scaleOf = (format: string): number | null =>
  format === '%s' || format === '%s_as_float'
    ? 1000
    : format === '%ms'
      ? 1
      : format === '%epoch_microseconds'
        ? 0.001
        : null;
