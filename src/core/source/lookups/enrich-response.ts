import { AppError } from '../../errors.ts';

export type KeyResponse =
  /** `value` is undefined if the response lacks what the spec selects. */
  | {
      readonly kind: 'found';
      readonly value: unknown;
      /** Characters as JSON. */
      readonly length: number;
    }
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly error: AppError };

export type KeyResponses = ReadonlyMap<string, KeyResponse>;

export const cachedText = (response: Exclude<KeyResponse, { kind: 'failed' }>): string | null =>
  response.kind === 'missing' ? null : JSON.stringify({ value: response.value });

export function responseOf(text: string | null): KeyResponse {
  if (text === null) return { kind: 'missing' };
  const { value }: { readonly value?: unknown } = JSON.parse(text);
  return { kind: 'found', value, length: text.length };
}

/** Throws `spec_invalid` above the common limit of a page. */
export type CountValues = (response: KeyResponse) => void;

/** In characters as JSON, for all steps: the values are in memory until the page is delivered. */
const valuesLengthMax = 64_000_000;

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
