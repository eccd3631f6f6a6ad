import type { Token } from './lexer.ts';
import { JinjaError } from './syntax.ts';

const depthMax = 100;

export interface TokenReader {
  /** The next token, or the one `offset` tokens after it, without taking it; past the last one, the end token. */
  peek(offset?: number): Token;
  take(): Token;
  isOperator(text: string): boolean;
  isWord(text: string): boolean;
  skip(text: string): boolean;
  /** Throws `JinjaError` if the next token is not this operator or word. */
  expect(text: string): void;
  /** Throws `JinjaError` unless every token is taken. */
  expectEnd(): void;
  /** Throws `JinjaError` for an unexpected token. */
  fail(token: Token): never;
  /** Throws `JinjaError` below a hundred levels. */
  nested<T>(read: (tokens: TokenReader) => T): T;
}

/** The last token of the list is the end. */
export function readTokens(list: readonly Token[]): TokenReader {
  let next = 0;
  let depth = 0;
  const end: Token = list.at(-1) ?? { kind: 'end', text: '', at: 0 };
  const reader: TokenReader = {
    peek: (offset = 0) => list[next + offset] ?? end,
    take() {
      const token = reader.peek();
      next += 1;
      return token;
    },
    isOperator: (text) => reader.peek().kind === 'operator' && reader.peek().text === text,
    isWord: (text) => reader.peek().kind === 'name' && reader.peek().text === text,
    skip(text) {
      const found = reader.isOperator(text) || reader.isWord(text);
      if (found) next += 1;
      return found;
    },
    expect(text) {
      if (!reader.skip(text)) reader.fail(reader.peek());
    },
    expectEnd() {
      if (reader.peek().kind !== 'end') reader.fail(reader.peek());
    },
    fail({ kind, text, at }) {
      throw new JinjaError(
        kind === 'end' ? 'ends too early' : `has ${JSON.stringify(text)} where it is not expected`,
        at,
      );
    },
    nested(read) {
      depth += 1;
      if (depth > depthMax) throw new JinjaError(`nests deeper than ${depthMax} levels`, reader.peek().at);
      const result = read(reader);
      depth -= 1;
      return result;
    },
  };
  return reader;
}
