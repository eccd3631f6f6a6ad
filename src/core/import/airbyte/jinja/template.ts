import { tokenize } from './lexer.ts';
import { parseAssignment, parseExpression } from './parser.ts';
import { JinjaError, type Node } from './syntax.ts';

export type Template =
  | { readonly kind: 'literal'; readonly text: string }
  /** One expression alone: its value keeps its type. */
  | { readonly kind: 'expression'; readonly node: Node }
  | { readonly kind: 'text'; readonly parts: readonly Node[] };

const lengthMax = 20_000;
const blocksMax = 200;
const depthMax = 50;

type Piece =
  | { readonly kind: 'text'; readonly text: string; readonly at: number }
  | { readonly kind: 'hole' | 'block'; readonly text: string; readonly at: number };

/** Throws `JinjaError`. */
export function parseTemplate(text: string): Template {
  if (!/\{[{%#]/.test(text)) return { kind: 'literal', text };
  if (text.length > lengthMax) throw new JinjaError(`is longer than ${lengthMax} characters`, 0);
  const pieces = piecesOf(text.replace(/\n$/, ''));
  const parts = createBlocks(pieces).all();
  const [only] = parts;
  if (only === undefined) return { kind: 'literal', text: '' };
  if (parts.length === 1) {
    return only.kind === 'constant' && pieces.every((piece) => piece.kind === 'text')
      ? { kind: 'literal', text: String(only.value) }
      : { kind: 'expression', node: only };
  }
  return { kind: 'text', parts };
}

const closings = { '{{': '}}', '{%': '%}', '{#': '#}' } as const;

function piecesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  let trimNext = false;
  const addText = (from: number, to: number, trimEnd: boolean): void => {
    let value = text.slice(from, to);
    if (trimNext) value = value.trimStart();
    if (trimEnd) value = value.trimEnd();
    if (value !== '') pieces.push({ kind: 'text', text: value, at: from });
  };
  while (at < text.length) {
    const found = /\{[{%#]/g;
    found.lastIndex = at;
    const open = found.exec(text);
    if (open === null) break;
    const start = open.index + 2;
    const kind = open[0] as keyof typeof closings;
    const end = closing(text, start, closings[kind]);
    addText(at, open.index, text[start] === '-');
    const inner = text.slice(start, end);
    trimNext = inner.endsWith('-');
    const from = /^[-+]/.test(inner) ? 1 : 0;
    const body = inner.slice(from, inner.length - (/[-+]$/.test(inner) && inner.length > from ? 1 : 0));
    if (kind !== '{#') pieces.push({ kind: kind === '{{' ? 'hole' : 'block', text: body, at: start + from });
    at = end + 2;
  }
  addText(at, text.length, false);
  return pieces;
}

/** The end of a hole; quotes inside it may hold the closing braces. */
function closing(text: string, start: number, close: string): number {
  let quote = '';
  let braces = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (quote !== '') {
      if (character === '\\') at += 1;
      else if (character === quote) quote = '';
    } else if ((character === "'" || character === '"') && close !== '#}') quote = character;
    else if (character === '{') braces += 1;
    else if (braces > 0 && character === '}') braces -= 1;
    else if (text.startsWith(close, at)) return at;
  }
  throw new JinjaError(`has no closing ${close}`, start - 2);
}

/** Blocks as expressions: `{% if %}` is a conditional, `{% set %}` a name for a value. */
function createBlocks(pieces: readonly Piece[]) {
  let next = 0;
  let depth = 0;
  const blocks = pieces.filter(({ kind }) => kind === 'block');
  if (blocks.length > blocksMax) throw new JinjaError(`has more than ${blocksMax} blocks`, 0);

  function sequence(ends: readonly string[]): readonly Node[] {
    const parts: Node[] = [];
    depth += 1;
    if (depth > depthMax) throw new JinjaError(`nests blocks deeper than ${depthMax} levels`, pieces[next]?.at ?? 0);
    while (next < pieces.length) {
      const piece = pieces[next];
      if (piece === undefined) break;
      if (piece.kind === 'text') parts.push({ kind: 'constant', at: piece.at, value: piece.text });
      else if (piece.kind === 'hole') parts.push(parseExpression(tokenize(piece.text, piece.at)));
      else {
        const [word, rest, at] = split(piece);
        if (ends.includes(word)) break;
        next += 1;
        if (word === 'set') return [...parts, binding({ text: rest, at }, ends)];
        parts.push(block(word, rest, at));
        continue;
      }
      next += 1;
    }
    depth -= 1;
    return parts;
  }

  function binding(set: { readonly text: string; readonly at: number }, ends: readonly string[]): Node {
    const { name, value } = parseAssignment(tokenize(set.text, set.at));
    const rest = joined(sequence(ends), set.at);
    return { kind: 'let', at: set.at, name, value, in: rest };
  }

  function block(word: string, rest: string, at: number): Node {
    if (word !== 'if') throw new JinjaError(`has the block {% ${word} %}; only if and set are expressions`, at);
    return conditional(rest, at);
  }

  function conditional(test: string, at: number): Node {
    const condition = parseExpression(tokenize(test, at));
    const then = joined(sequence(['elif', 'else', 'endif']), at);
    const piece = pieces[next];
    if (piece === undefined) throw new JinjaError('has {% if %} without {% endif %}', at);
    next += 1;
    const [word, rest, from] = split(piece);
    if (word === 'endif') return { kind: 'if', at, condition, yes: then, no: null };
    if (word === 'elif') return { kind: 'if', at, condition, yes: then, no: conditional(rest, from) };
    const otherwise = joined(sequence(['endif']), at);
    if (pieces[next] === undefined) throw new JinjaError('has {% if %} without {% endif %}', at);
    next += 1;
    return { kind: 'if', at, condition, yes: then, no: otherwise };
  }

  return {
    all(): readonly Node[] {
      const parts = sequence([]);
      return parts;
    },
  };
}

function split({ text, at }: Piece): readonly [word: string, rest: string, at: number] {
  const [whole = '', word = ''] = /^\s*(\w*)\s*/.exec(text) ?? [];
  return [word, text.slice(whole.length), at + whole.length];
}

/** Several parts are a text; a single one keeps its type. */
const joined = (parts: readonly Node[], at: number): Node => {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : { kind: 'text', at, parts };
};
