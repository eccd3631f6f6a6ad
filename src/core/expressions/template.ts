import { AppError } from '../errors.ts';
import { createTextCache } from '../work/text-cache.ts';
import type { Evaluator } from './evaluation.ts';
import { arrayOnPath, compilePlainPath } from './plain-path.ts';
import { parseTemplate, type TemplatePart } from './template-parts.ts';

/** Names that a template sees, `params`, `secrets`, `page`, …; lookups, params, each and run are bound as `$name` too. */
export type Roots = Readonly<Record<string, unknown>>;

export interface RenderOptions {
  readonly evaluator: Evaluator;
  readonly now: Date;
  /** For a hole that is null or missing: `omit` leaves out the property, header or parameter; `fail` throws (paths). */
  readonly missing: 'omit' | 'fail';
  /** Why a hole may not be omitted, given its expression; `null` (and the default) if it may. */
  readonly whyNeeded?: (expression: string) => string | null;
  /** Makes each hole's text safe for paths, except raw `{{{ }}}` holes. With it, a result is always text. */
  readonly encode?: (text: string) => string;
}

/**
 * The value of a template, or of a JSON structure with templates at its leaves. A single hole keeps its JSON type,
 * otherwise the parts are joined to text. `undefined` when a hole is null or missing and may be omitted; inside a
 * structure that property or element is left out. Throws `AppError` `spec_invalid`.
 */
export async function renderTemplate(value: unknown, roots: Roots, options: RenderOptions): Promise<unknown> {
  if (typeof value === 'string') return await renderText(value, roots, options);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) items.push(await renderTemplate(item, roots, options));
    return items.filter((item) => item !== undefined);
  }
  const entries: [string, unknown][] = [];
  for (const [key, child] of Object.entries(value)) entries.push([key, await renderTemplate(child, roots, options)]);
  return Object.fromEntries(entries.filter(([, child]) => child !== undefined));
}

async function renderText(text: string, roots: Roots, options: RenderOptions): Promise<unknown> {
  const holes = preparedTemplate(text);
  const [only] = holes;
  if (only === undefined) return '';
  if (holes.length === 1 && only.expression !== null && options.encode === undefined) {
    return await holeValue(only, roots, options);
  }
  let result = '';
  for (const part of holes) {
    const value = part.expression === null ? part.literal : await holeValue(part, roots, options);
    if (value === undefined) return undefined;
    const shown = typeof value === 'string' ? value : JSON.stringify(value);
    result += part.expression === null || part.raw || options.encode === undefined ? shown : options.encode(shown);
  }
  return result;
}

type Prepared =
  | { readonly expression: null; readonly literal: string }
  | { readonly expression: string; readonly raw: boolean; readonly plainPath: ReturnType<typeof compilePlainPath> };

async function holeValue(
  hole: Extract<Prepared, { readonly plainPath: unknown }>,
  roots: Roots,
  { evaluator, now, missing, whyNeeded }: RenderOptions,
): Promise<unknown> {
  const plain = hole.plainPath === null ? arrayOnPath : hole.plainPath(roots);
  const { expression } = hole;
  const value =
    plain === arrayOnPath
      ? await evaluator.evaluate({ expression, input: mentionedRoots(expression, roots), now })
      : plain;
  if (value !== undefined && value !== null) return value;
  const advice = missing === 'omit' ? (whyNeeded?.(expression) ?? null) : null;
  if (advice !== null)
    throw new AppError('spec_invalid', `The template placeholder {{ ${expression} }} has no value. ${advice}`);
  if (missing === 'omit') return undefined;
  throw new AppError(
    'spec_invalid',
    `The template placeholder {{ ${expression} }} has no value, but a path needs one. Check the name, or set the parameter.`,
  );
}

function prepare(part: TemplatePart): Prepared {
  if ('literal' in part) return { expression: null, literal: part.literal };
  const { expression, raw = false } = part;
  // `$params.x` is the same value as `params.x`.
  const path = expression.replace(/^\$(?=(?:lookups|params|each|run)\b)/, '');
  return { expression, raw, plainPath: compilePlainPath(path) };
}

/** Rendered for every request, and parsing costs as much as compiling the holes; a whole spec has 1 MiB. */
const preparedTemplate = createTextCache((text): readonly Prepared[] => parseTemplate(text).map(prepare), {
  textsMax: 1_000,
  charactersMax: 2_000_000,
});

/** Ways to reach a root without its name: `$`, `$$`, wildcards. */
const wholeInput = /\$(?![A-Za-z_])|\*/;

/** Only the roots that the expression names: tables and secrets are not sent without need. */
function mentionedRoots(expression: string, roots: Roots): Roots {
  if (wholeInput.test(expression)) return roots;
  return Object.fromEntries(Object.entries(roots).filter(([name]) => expression.includes(name)));
}
