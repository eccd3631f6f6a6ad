import { JinjaError } from './syntax.ts';

export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'operator' | 'end';
  /** As written, or the value of a string. */
  readonly text: string;
  readonly at: number;
}

const patterns = {
  space: /\s+/y,
  name: /[A-Za-z_][A-Za-z0-9_]*/y,
  number: /\d+(?:_\d+)*(?:\.\d+)?(?:[eE][+-]?\d+)?/y,
  string: /'((?:[^'\\]|\\[^])*)'|"((?:[^"\\]|\\[^])*)"/y,
  operator: /\/\/|\*\*|==|!=|<=|>=|[-+*/%~<>=()[\]{}.,:|]/y,
} as const;

const tokensMax = 5_000;

/** Throws `JinjaError`; positions count from `start` in the template. */
export function tokenize(expression: string, start: number): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(expression);
  };
  while (at < expression.length) {
    const space = match(patterns.space);
    if (space) {
      at += space[0].length;
      continue;
    }
    const token = readToken(match);
    if (token === null)
      throw new JinjaError(`cannot read ${JSON.stringify(expression.slice(at, at + 10))}`, start + at);
    tokens.push({ ...token, at: start + at });
    at += token.length;
    if (tokens.length > tokensMax) throw new JinjaError(`has more than ${tokensMax} tokens`, start + at);
  }
  return [...tokens, { kind: 'end', text: '', at: start + expression.length }];
}

function readToken(
  match: (pattern: RegExp) => RegExpExecArray | null,
): { readonly kind: Token['kind']; readonly text: string; readonly length: number } | null {
  for (const kind of ['name', 'number', 'string', 'operator'] as const) {
    const found = match(patterns[kind]);
    if (!found) continue;
    const text = kind === 'string' ? unescape(found[1] ?? found[2] ?? '') : found[0];
    return { kind, text, length: found[0].length };
  }
  return null;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', a: '\x07', v: '\v' };

/** Escapes of Python; an unknown one keeps its backslash. */
const unescape = (text: string): string =>
  text.replaceAll(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([^]))/g, (whole, hex, unicode, one) => {
    if (hex !== undefined || unicode !== undefined) return String.fromCharCode(Number.parseInt(hex ?? unicode, 16));
    if (one === '\n') return '';
    return one === '\\' || one === "'" || one === '"' ? one : (escapes[one] ?? whole);
  });
