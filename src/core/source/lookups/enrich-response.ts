import type { AppError } from '../../errors.ts';

/** The API's response for one key. */
export type KeyResponse =
  /** The key is found; the value is undefined when the response lacks what the spec selects. */
  | { readonly kind: 'found'; readonly value: unknown }
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly error: AppError };

/** Responses by the texts of their keys. */
export type KeyResponses = ReadonlyMap<string, KeyResponse>;

/** The response as it is cached. */
export const cachedText = (response: Exclude<KeyResponse, { kind: 'failed' }>): string | null =>
  response.kind === 'missing' ? null : JSON.stringify({ value: response.value });

/** A cached response. */
export function responseOf(text: string | null): KeyResponse {
  if (text === null) return { kind: 'missing' };
  const { value }: { readonly value?: unknown } = JSON.parse(text);
  return { kind: 'found', value };
}
