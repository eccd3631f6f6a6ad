import { AppError } from '../errors.ts';

/** Characters of a URL: what servers commonly take of one, and far more than a page of an API needs. */
export const urlCharsMax = 8192;

/** Throws `source_rejected` for a URL, or a link that would become one, that is longer than {@link urlCharsMax}. */
export function limitUrl(url: string): void {
  if (url.length <= urlCharsMax) return;
  const message = `A URL of ${url.length} characters is longer than ${urlCharsMax}: shorten what the spec or the API puts into it.`;
  throw new AppError('source_rejected', message);
}
