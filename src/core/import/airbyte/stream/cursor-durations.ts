import type { Component } from '../component.ts';
import type { Config } from '../config/config.ts';
import { compile } from '../jinja/compile.ts';
import { JinjaError } from '../jinja/syntax.ts';
import { parseTemplate } from '../jinja/template.ts';
import { refuse } from '../refusal.ts';
import { evaluate } from '../render.ts';
import { startScope } from './scopes.ts';

interface Place {
  readonly component: Component;
  readonly config: Config;
  readonly at: string;
}

/** A duration that no connection changes, or the one of a connection that leaves out its values; null: unknown. */
export function staticDuration(template: string, { component, config, at }: Place): string | null {
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

/** A duration as text, or the milliseconds of `P{{ … }}D` that a connection decides; null: none. */
export function dynamicDuration(
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
