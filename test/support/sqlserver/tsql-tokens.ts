/** The words and signs of statements, in order. Words are in lower case. */
export interface Tokens {
  isAtEnd(): boolean;
  /** Takes the next ones if they are these. */
  accepts(...wanted: readonly string[]): boolean;
  /** Takes the next ones. Throws when they are others. */
  expect(...wanted: readonly string[]): void;
  peek(): string;
  take(): string;
  /** Skips to the first of these: whether it was the first named, which is then taken. */
  takesUntil(wanted: string, other: string): boolean;
  /** The text up to the semicolon, which is taken too. */
  takeStatement(): string;
  /** The text up to the bracket that closes the one before it, which is taken too. */
  takeBracket(): string;
}

interface Token {
  readonly text: string;
  readonly at: number;
}

const tokenPattern = /N?'(?:[^']|'')*'|"[^"]*"|[#@\w.]+|<>|<=|>=|[^\s]/g;

/** Takes statements apart. */
export function createTokens(sql: string): Tokens {
  const all: readonly Token[] = [...sql.matchAll(tokenPattern)].map(({ 0: text, index }) => ({ text, at: index }));
  let place = 0;
  const textAt = (index: number): string => {
    const text = all[index]?.text ?? '';
    return /^N?'/.test(text) ? text : text.toLowerCase();
  };
  const accepts = (...wanted: readonly string[]): boolean => {
    if (!wanted.every((text, index) => textAt(place + index) === text)) return false;
    place += wanted.length;
    return true;
  };
  const take = (): string => {
    place += 1;
    return textAt(place - 1);
  };
  /** Up to the sign, at no depth of brackets. */
  const takeTo = (sign: ';' | ')'): string => {
    const from = all[place]?.at ?? sql.length;
    for (let depth = 0; place < all.length; place += 1) {
      const text = textAt(place);
      if (text === sign && depth === 0) break;
      depth += Number(text === '(') - Number(text === ')');
    }
    const to = all[place]?.at;
    if (to === undefined) throw new Error(`no ${sign} after ${sql.slice(from, from + 80)}`);
    place += 1;
    return sql.slice(from, to);
  };
  return {
    isAtEnd: () => place >= all.length,
    accepts,
    expect(...wanted) {
      if (!accepts(...wanted)) throw new Error(`${wanted.join(' ')} is not at: ${sql.slice(all[place]?.at, 80)}`);
    },
    peek: () => textAt(place),
    take,
    takesUntil(wanted, other) {
      while (textAt(place) !== wanted && textAt(place) !== other) take();
      return accepts(wanted);
    },
    takeStatement: () => takeTo(';'),
    takeBracket: () => takeTo(')'),
  };
}
