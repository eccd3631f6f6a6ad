import { isDeepStrictEqual } from 'node:util';
import { type AstNode, parseExpression } from '../expression.ts';
import { type CompiledExpression, compile } from './compile.ts';
import { fieldsRead } from './fields-read.ts';
import { NotCompiled, pairsOf } from './node.ts';
import { isReservedName } from './plain-json.ts';

/** An object constructor that can be compiled in part, as two expressions that together give its fields. */
export interface SplitExpression {
  readonly names: readonly string[];
  readonly compiled: { readonly expression: string; readonly compiled: CompiledExpression };
  /** For JSONata itself. `fields` are those of the record that it reads; `null` when any field is possible. */
  readonly rest: { readonly expression: string; readonly fields: ReadonlySet<string> | null };
}

/** A longer mapping is treated as a whole, which keeps both parts far from JSONata's depth limit. */
const limits = { textLength: 16_384, pairs: 100 } as const;

/**
 * Splits a mapping such as `{"a": a, "b": $map(…)}`, so that JSONata computes only the fields that need it. JSONata
 * computes each value by itself, so the parts give the same as the whole as long as neither fails. `null` for other
 * expressions, and when all or nothing of it can be compiled.
 */
export function splitExpression(text: string): SplitExpression | null {
  try {
    return split(text);
  } catch (error) {
    // Nested too deeply to walk.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function split(text: string): SplitExpression | null {
  if (text.length > limits.textLength) return null;
  const parsed = parseExpression(text);
  if (!parsed.ok || !isPlainObject(parsed.ast)) return null;
  const pairs = pairsIn(parsed.ast);
  const pieces = piecesOf(text);
  if (pairs.length !== pieces.length || pairs.length > limits.pairs) return null;
  const names: string[] = [];
  const parts = { compiled: [] as string[], rest: [] as string[] };
  for (const [index, piece] of pieces.entries()) {
    const pair = pairs[index];
    const name = pair?.[0].value;
    // The part cut out of the text must keep its meaning.
    if (
      pair?.[0].type !== 'string' ||
      hasGroup(pair[1]) ||
      typeof name !== 'string' ||
      isReservedName(name) ||
      !isDeepStrictEqual(pairOf(piece), bare(pair))
    )
      return null;
    names.push(name);
    parts[compile(`{${piece}}`) === null ? 'rest' : 'compiled'].push(piece);
  }
  const expression = `{${parts.compiled.join(',')}}`;
  const rest = `{${parts.rest.join(',')}}`;
  const compiled = compile(expression);
  const isSplit = parts.compiled.length > 0 && parts.rest.length > 0 && new Set(names).size === names.length;
  if (!isSplit || compiled === null) return null;
  return { names, compiled: { expression, compiled }, rest: { expression: rest, fields: fieldsRead(rest) } };
}

const isPlainObject = (node: AstNode): boolean =>
  node.type === 'unary' &&
  node.value === '{' &&
  Object.keys(node).every((property) => ['type', 'value', 'position', 'lhs'].includes(property));

function pairsIn(node: AstNode): ReturnType<typeof pairsOf> {
  try {
    return pairsOf(node);
  } catch (error) {
    if (error instanceof NotCompiled) return [];
    throw error;
  }
}

/** `a{…}`: JSONata puts an item into the record's list if it is empty, and other fields see it. */
function hasGroup(tree: unknown): boolean {
  if (Array.isArray(tree)) return tree.some(hasGroup);
  if (typeof tree !== 'object' || tree === null || tree instanceof RegExp) return false;
  return 'group' in tree || Object.values(tree).some(hasGroup);
}

function pairOf(piece: string): unknown {
  const parsed = parseExpression(`{${piece}}`);
  const [pair, ...others] = parsed.ok && isPlainObject(parsed.ast) ? pairsIn(parsed.ast) : [];
  return pair === undefined || others.length > 0 ? null : bare(pair);
}

function bare(tree: unknown): unknown {
  if (Array.isArray(tree)) return tree.map(bare);
  if (typeof tree !== 'object' || tree === null || tree instanceof RegExp) return tree;
  return Object.fromEntries(
    Object.entries(tree).flatMap(([name, value]) => (name === 'position' ? [] : [[name, bare(value)]])),
  );
}

/** Texts, quoted names, comments and possible patterns; brackets and commas outside of them. */
const token = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|\/\*[\s\S]*?\*\/|\/(?:[^/\\\n]|\\.)+\/[im]*|[()[\]{},]/g;

/** A guess at the commas of the constructor: only a parser can tell a pattern from a division (see the comparison above). */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: found, index } of text.matchAll(token)) {
    if (found.length > 1) continue;
    if (found === ',' && depth === 1) {
      pieces.push(text.slice(start, index));
      start = index + 1;
    } else if ('([{'.includes(found)) {
      depth += 1;
      if (depth === 1) start = index + 1;
    } else if (')]}'.includes(found)) {
      depth -= 1;
      if (depth === 0) pieces.push(text.slice(start, index));
    }
  }
  return pieces;
}
