import { AppError } from '../errors.ts';

/** The common limit of servers, and far more than a page of an API needs. */
export const urlCharsMax = 8192;

/** Throws `source_rejected`. */
export function limitUrl(url: string): void {
  if (url.length <= urlCharsMax) return;
  const message = `A URL of ${url.length} characters is longer than ${urlCharsMax}: shorten what the spec or the API puts into it.`;
  throw new AppError('source_rejected', message);
}
