import { AppError } from '../errors.ts';
import { expressionBytesMax, parseExpression } from './expression.ts';
import type { ParseExpression } from './expression-parser.ts';

/** `raw` holes have triple braces and go into a path without percent-encoding. */
export type TemplatePart = { readonly literal: string } | { readonly expression: string; readonly raw?: true };

/** Closing braces tried per hole; each try parses the hole once. */
const closingsMax = 20;

/**
 * Splits a template into literals and `{{ JSONata }}` holes. A hole ends at the first `}}` at which it parses, so
 * object constructors inside work. `{{{ … }}}` is a raw hole; if its inside does not parse, `{{{'a': b}}}` is a
 * double-brace hole around an object. A template that is a single hole keeps its value's JSON type: it has exactly one
 * part. Throws `spec_invalid` when a hole does not close or parse.
 */
export function parseTemplate(text: string, parse: ParseExpression = parseExpression): readonly TemplatePart[] {
  if (Buffer.byteLength(text) > expressionBytesMax) {
    throw new AppError('spec_invalid', `the template is longer than ${expressionBytesMax} bytes; shorten it`);
  }
  const parts: TemplatePart[] = [];
  let position = 0;
  for (;;) {
    const open = text.indexOf('{{', position);
    const literal = open === -1 ? text.slice(position) : text.slice(position, open);
    if (literal !== '') parts.push({ literal });
    if (open === -1) return parts.length > 0 ? parts : [{ literal: '' }];
    const { part, end } = readHole(text, { open, parse });
    parts.push(part);
    position = end;
  }
}

export const hasHoles = (text: string): boolean => text.includes('{{');

/** The text with an `x` for each hole; `null` when a hole does not close or parse. */
export function withoutHoles(text: string, parse: ParseExpression): string | null {
  if (!hasHoles(text)) return text;
  try {
    return parseTemplate(text, parse)
      .map((part) => ('literal' in part ? part.literal : 'x'))
      .join('');
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

interface Hole {
  readonly part: TemplatePart;
  readonly end: number;
}

function readHole(text: string, { open, parse }: HolePlace): Hole {
  const raw = text.startsWith('{{{', open) ? closeHole(text, { open: open + 3, closing: '}}}', parse }) : null;
  if (raw && 'expression' in raw) {
    return { part: { expression: raw.expression, raw: true }, end: raw.end };
  }
  const hole = closeHole(text, { open: open + 2, closing: '}}', parse });
  if ('expression' in hole) return { part: { expression: hole.expression }, end: hole.end };
  throw new AppError('spec_invalid', `the template placeholder at character ${open + 1} ${hole.message}`);
}

interface HolePlace {
  readonly open: number;
  readonly parse: ParseExpression;
}

interface HoleStart extends HolePlace {
  readonly closing: string;
}

type ClosedHole = { readonly expression: string; readonly end: number } | { readonly message: string };

function closeHole(text: string, { open, closing, parse }: HoleStart): ClosedHole {
  let message = `has no closing ${closing}`;
  let close = text.indexOf(closing, open);
  for (let tries = 0; close !== -1 && tries < closingsMax; tries++) {
    const expression = text.slice(open, close).trim();
    const parsed = parse(expression);
    if (parsed.ok) return { expression, end: close + closing.length };
    if (tries === 0) message = `is ${parsed.message}`;
    close = text.indexOf(closing, close + 1);
  }
  return { message };
}
