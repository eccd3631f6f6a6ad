import type { AppError } from '../../errors.ts';

/** What the API says of one key. */
export type Reply =
  /** Undefined: it has the thing, but what the spec selects of it is not there. */
  | { readonly kind: 'found'; readonly value: unknown }
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly error: AppError };

/** Answers by the texts of their keys. */
export type Replies = ReadonlyMap<string, Reply>;

/** The response as it is kept in a cache. */
export const cachedText = (response: Exclude<Reply, { kind: 'failed' }>): string | null =>
  response.kind === 'missing' ? null : JSON.stringify({ value: response.value });

/** A kept response. */
export function responseOf(text: string | null): Reply {
  if (text === null) return { kind: 'missing' };
  const { value }: { readonly value?: unknown } = JSON.parse(text);
  return { kind: 'found', value };
}
