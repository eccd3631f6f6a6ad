import type { AppError } from '../../errors.ts';

/** What the API says of one key. */
export type Answer =
  /** Undefined: it has the thing, but what the spec selects of it is not there. */
  | { readonly kind: 'found'; readonly value: unknown }
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly error: AppError };

/** Answers by the texts of their keys. */
export type Answers = ReadonlyMap<string, Answer>;

/** The answer as it is kept in a cache. */
export const cachedText = (answer: Exclude<Answer, { kind: 'failed' }>): string | null =>
  answer.kind === 'missing' ? null : JSON.stringify({ value: answer.value });

/** A kept answer. */
export function answerOf(text: string | null): Answer {
  if (text === null) return { kind: 'missing' };
  const { value }: { readonly value?: unknown } = JSON.parse(text);
  return { kind: 'found', value };
}
