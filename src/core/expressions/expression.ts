import jsonata from 'jsonata';
import { parseEffort } from './parse-effort.ts';

/** A node of jsonata's syntax tree; its own type lacks half of the properties. */
export interface AstNode {
  readonly type: string;
  readonly value?: unknown;
  readonly [property: string]: unknown;
}

export type ParsedExpression =
  | { readonly ok: true; readonly ast: AstNode }
  | { readonly ok: false; readonly message: string };

/** Limit of one expression: a longer one is an attack or a mistake. */
export const expressionBytesMax = 65_536;

/** jsonata takes quadratic time for parent steps: 8,000 of them took 2 s. */
const parentStepsMax = 50;

/** Operators that copy their left side; this few cost little, however they nest. */
const copiesMax = 10;
/** Characters that the parser may work on, copies included; they take about 0.3 s. */
const effortMax = 262_144;

/** Never throws: if the parser fails on a text, however deep or long, the result is a message. */
export function parseExpression(text: string): ParsedExpression {
  if (Buffer.byteLength(text) > expressionBytesMax) {
    return { ok: false, message: `the expression is longer than ${expressionBytesMax} bytes; split it` };
  }
  if (text.split('%').length > parentStepsMax + 1) {
    return { ok: false, message: `the expression uses \`%\` more than ${parentStepsMax} times; split it` };
  }
  if (text.split(/\?[?:]/).length > copiesMax + 1 && parseEffort(text) > effortMax) {
    return {
      ok: false,
      message:
        'the expression nests too many `??` and `?:`, and each doubles its left side; bind the inner ones to variables first',
    };
  }
  try {
    return { ok: true, ast: asNode(jsonata(text).ast()) };
  } catch (error) {
    return { ok: false, message: reason(error) };
  }
}

export const isNode = (value: unknown): value is AstNode =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

function asNode(ast: unknown): AstNode {
  if (!isNode(ast)) throw new TypeError('jsonata gave no syntax tree');
  return ast;
}

/** jsonata throws plain objects with code and message; a stack overflow and a bad regular expression are Errors. */
function reason(error: unknown): string {
  if (error instanceof RangeError) return 'the expression nests too deeply; split it';
  if (typeof error !== 'object' || error === null) return 'the expression does not parse';
  const message = 'message' in error && typeof error.message === 'string' ? error.message : 'it does not parse';
  const at = 'position' in error && typeof error.position === 'number' ? ` (at character ${error.position})` : '';
  return `not a JSONata expression: ${message.slice(0, 300)}${at}`;
}
