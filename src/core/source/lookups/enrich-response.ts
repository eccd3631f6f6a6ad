import { AppError } from '../../errors.ts';

/** The API's response for one key. */
export type KeyResponse =
  /** The key is found; the value is undefined when the response lacks what the spec selects. */
  | {
      readonly kind: 'found';
      readonly value: unknown;
      /** Characters of the value as JSON. */
      readonly length: number;
    }
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
  return { kind: 'found', value, length: text.length };
}

/** Counts the values of one page. Throws `spec_invalid` when they have more characters together than they may. */
export type CountValues = (response: KeyResponse) => void;

/** Characters of the values that all steps find for one page, as JSON: they are in memory until it is delivered. */
const valuesLengthMax = 64_000_000;

/** The count of one page. */
export function createCountValues(): CountValues {
  let length = 0;
  return (response) => {
    length += response.kind === 'found' ? response.length : 0;
    if (length <= valuesLengthMax) return;
    throw new AppError(
      'spec_invalid',
      `The enrichments find more than ${valuesLengthMax / 1_000_000} MB for the records of one page. Keep the needed part with select, or request smaller pages.`,
    );
  };
}
