import { type Component, pathAt, textOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { compile } from '../jinja/compile.ts';
import { durationText, parseDuration } from '../jinja/durations.ts';
import { JinjaError } from '../jinja/syntax.ts';
import { parseTemplate } from '../jinja/template.ts';
import { refuse } from '../refusal.ts';
import { evaluate } from '../render.ts';
import { startScope } from './scopes.ts';

/** The size of a window; `null` when one window has all. Months and years get a fixed length, which changes no record. */
export function stepOf(cursor: Component, config: Config): string | null {
  const template = textOf(cursor, 'step');
  if (template === undefined || template === '') return null;
  const at = pathAt(cursor, 'step');
  const text = staticDuration(template, { component: cursor, config, at }) ?? 'P30D';
  const parsed = parseDuration(text);
  if (parsed === null) return refuse(at, `${JSON.stringify(text.slice(0, 100))} is no duration`);
  const size = durationText(parsed, { month: 30, year: 365 });
  return size === 'PT0S' ? refuse(at, 'a window has no length') : size;
}

/** Milliseconds between the end of a window and the start of the next. */
export function granularityOf(cursor: Component): number | null {
  const text = textOf(cursor, 'cursor_granularity');
  const parsed = text === undefined ? null : parseDuration(text);
  return parsed === null ? null : parsed.ms + parsed.months * 30 * 86_400_000;
}

export interface Lookback {
  readonly fixed: string | null;
  /** JSONata for milliseconds that a connection decides. */
  readonly shift: string | null;
  readonly note: string | null;
}

/** `isFixed` means that no connection can decide the lookback. */
export function lookbackOf(cursor: Component, config: Config, isFixed: boolean): Lookback {
  const none = { fixed: null, shift: null, note: null };
  const template = textOf(cursor, 'lookback_window');
  if (template === undefined || template === '') return none;
  const at = pathAt(cursor, 'lookback_window');
  const found = dynamicDuration(template, { component: cursor, config, at });
  if (found === null) return none;
  if ('text' in found) return { ...none, fixed: lookbackText(found.text, at) };
  if (!isFixed) return { ...none, shift: found.ms };
  const usual = staticDuration(template, { component: cursor, config, at });
  return usual === null
    ? refuse(at, 'a lookback that every connection decides cannot bound records that are filtered here')
    : { ...none, fixed: lookbackText(usual, at), note: 'Every run looks back as far as the manifest does by default.' };
}

function lookbackText(text: string, at: string): string {
  const parsed = parseDuration(text);
  if (parsed === null) return refuse(at, `${JSON.stringify(text.slice(0, 100))} is no duration`);
  return durationText(parsed, { month: 31, year: 366 });
}

interface Place {
  readonly component: Component;
  readonly config: Config;
  readonly at: string;
}

/** A duration that no connection changes, or the one of a connection that leaves out its values; `null` if unknown. */
function staticDuration(template: string, { component, config, at }: Place): string | null {
  const value = evaluate(template, startScope({ component, config: config.defaults() }), at);
  const known = value.constant?.value;
  return typeof known === 'string' && /\d/.test(known) ? known : null;
}

const unitsMs: Readonly<Record<string, number>> = {
  'P-W': 604_800_000,
  'P-D': 86_400_000,
  'PT-H': 3_600_000,
  'PT-M': 60_000,
  'PT-S': 1000,
};

/** A duration as text, or the milliseconds of `P{{ … }}D` that a connection decides; `null` without one. */
function dynamicDuration(
  template: string,
  { component, config, at }: Place,
): { readonly text: string } | { readonly ms: string } | null {
  const scope = startScope({ component, config });
  const value = evaluate(template, scope, at);
  if (value.constant) {
    const known = value.constant.value;
    return typeof known === 'string' && known !== '' ? { text: known } : null;
  }
  try {
    const parsed = parseTemplate(template);
    const parts = parsed.kind === 'text' ? parsed.parts.map((part) => compile(part, scope)) : [];
    const [prefix, amount, suffix] = parts;
    const unit =
      parts.length === 3 ? unitsMs[`${String(prefix?.constant?.value)}-${String(suffix?.constant?.value)}`] : undefined;
    if (unit !== undefined && amount) return { ms: `$number(${amount.code}) * ${unit}` };
  } catch (error) {
    if (!(error instanceof JinjaError)) throw error;
  }
  return refuse(at, 'a duration that a connection decides is converted only as P{{ … }}D, PT{{ … }}H and the like');
}
