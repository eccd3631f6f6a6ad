import { isJsonObject } from '../../../json/is-json-object.ts';
import { type Component, partOf, pathAt, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { instantOf } from '../jinja/macros.ts';
import { JinjaError } from '../jinja/syntax.ts';
import { isIso, readTime } from '../jinja/time-format.ts';
import { computed, type Value } from '../jinja/value.ts';
import { asText } from '../objects.ts';
import { refuse } from '../refusal.ts';
import { evaluate } from '../render.ts';
import { startScope } from './scopes.ts';

/** The start of the first run, or the end of every run. */
export interface Moment {
  /** JSONata for milliseconds, in a request. */
  readonly ms: string;
  /** `incremental.initial`. */
  readonly initial: string;
  readonly value: Value;
}

export function readMoment(
  cursor: Component,
  key: string,
  { config, format }: { readonly config: Config; readonly format: string },
): Moment | null {
  const given = valueOf(cursor, key);
  if (given === undefined || given === '') return null;
  const part = isJsonObject(given) ? partOf(cursor, key) : null;
  const component = part ?? cursor;
  const at = part === null ? pathAt(cursor, key) : pathAt(part, 'datetime');
  const template = part === null ? asText(given) : (textOf(part, 'datetime') ?? '');
  const form = (part === null ? undefined : textOf(part, 'datetime_format')) ?? format;
  const scope = startScope({ component, config });
  const value = withoutQuotes(evaluate(template, scope, at));
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

/** The CDK reads a text in quotes as a literal of Python. */
const withoutQuotes = (value: Value): Value =>
  value.kind === 'text' && !value.constant && /^\(?"(?:\\"|')" & /.test(value.code)
    ? computed('text', String.raw`$replace(${value.code}, /^(?:"([^\\"]*)"|'([^\\']*)')$/, "$1$2")`)
    : value;

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

export interface End {
  /** `null` for now. */
  readonly ms: string | null;
  /** Keeps the watermark behind an end that lies before now. */
  readonly settle: string | null;
  readonly note: string | null;
}

export function readEnd(
  cursor: Component,
  setting: { readonly config: Config; readonly format: string; readonly hasStep: boolean; readonly start: Moment },
): End {
  const moment = readMoment(cursor, 'end_datetime', setting);
  if (moment === null) return { ms: null, settle: null, note: null };
  const at = pathAt(cursor, 'end_datetime');
  if (!readsConnection(moment)) return endAt(moment, at);
  if (!setting.hasStep) return { ms: moment.ms, settle: null, note: null };
  const usual = readMoment(cursor, 'end_datetime', { ...setting, config: setting.config.defaults() });
  // A value that also says where runs begin is set by connections that mean the start.
  const isOwn = paramsIn(moment).every((name) => !paramsIn(setting.start).includes(name));
  return usual === null || usual.value.constant || !isOwn
    ? refuse(at, 'windows with an end that a connection decides have no counterpart; remove step or end_datetime')
    : { ...endAt(usual, at), note: usualEnd };
}

const usualEnd = 'Every run reads up to now, or as near to it as the manifest goes: a connection sets no other end.';

const paramsIn = ({ ms }: Moment): readonly string[] => ms.match(/\b(?:params|secrets)\.\w+/g) ?? [];

const readsConnection = (moment: Moment): boolean => paramsIn(moment).length > 0;

function endAt({ ms, value }: Moment, at: string): End {
  if (isNow(ms)) return { ms: null, settle: null, note: null };
  const days = daysBefore(value.code);
  if (days === null) return refuse(at, 'an end that is neither now nor some days before now has no counterpart');
  return { ms, settle: `P${days + 1}D`, note: null };
}

/** Whether it is the time of the run, written and read again. */
const isNow = (ms: string): boolean =>
  !/\$millis\(\) [-%]|\$millis\(\) - /.test(ms.replaceAll(/\$millis\(\) - \$millis\(\) % 86400000/g, '$day')) &&
  ms.includes('$millis()') &&
  !ms.includes('$day') &&
  !/\[Y0001\]-\[M01\]-\[D01\]"/.test(ms);

/** Days between an end and now, rounded up; `null` if unknown. */
function daysBefore(code: string): number | null {
  const moved = [...code.matchAll(/ - (\d+)\b(?! *%)/g)]
    .map(([, ms]) => Number(ms))
    .filter((ms) => ms !== 86_400_000 || !code.includes('% 86400000'));
  if (/ \+ \d/.test(code)) return null;
  const total = moved.reduce((sum, ms) => sum + ms, 0);
  return code.includes('$millis()') && total < 3_650 * 86_400_000 ? Math.ceil(total / 86_400_000) : null;
}
