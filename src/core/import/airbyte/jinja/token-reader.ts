import type { Token } from './lexer.ts';
import { JinjaError } from './syntax.ts';

/** Parentheses, lists and operators inside each other. */
const depthMax = 100;

/** Reads the tokens of one expression from left to right. */
export interface TokenReader {
  /** A token without taking it: the next one, or the one `offset` tokens after it; the end where there is none. */
  peek(offset?: number): Token;
  /** Returns the next token and moves on; the end where there is none. */
  take(): Token;
  /** Whether the next token is this operator. */
  isOperator(text: string): boolean;
  /** Whether the next token is this name. */
  isWord(text: string): boolean;
  /** Takes the next token if it is this operator or word, and says whether it was. */
  skip(text: string): boolean;
  /** Takes the next token. Throws `JinjaError` if it is not this operator or word. */
  expect(text: string): void;
  /** Throws `JinjaError` unless every token is taken. */
  expectEnd(): void;
  /** Throws `JinjaError`: this token is not expected. */
  fail(token: Token): never;
  /** Reads something that lies one level deeper. Throws `JinjaError` below a hundred levels. */
  nested<T>(read: (tokens: TokenReader) => T): T;
}

/** A reader that begins with the first token of the list. The last token of the list is the end. */
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
