import { AppError, type Issue } from '../errors.ts';
import { ThrottledError } from '../model/throttled.ts';

/** Causes that are followed: no failure of this service has more. */
const causesMax = 10;

/**
 * Masks secrets in all that an error says: an API may send one back in its words, or in an address. It stays the same error, so
 * that it means the same to whoever catches it.
 */
export function maskError(error: unknown, redact: (text: string) => string, causesLeft = causesMax): void {
  if (!(error instanceof Error)) return;
  const { message, stack } = error;
  replace(error, 'message', redact(message));
  if (stack !== undefined) replace(error, 'stack', redact(stack));
  if (error instanceof AppError && error.issues) replace(error, 'issues', error.issues.map(maskedBy(redact)));
  if (causesLeft === 0) return replace(error, 'cause', undefined);
  if (error instanceof ThrottledError) maskError(error.otherwise, redact, causesLeft - 1);
  maskError(error.cause, redact, causesLeft - 1);
}

/** Those of an abort have no setters. */
function replace(error: Error, name: 'message' | 'stack' | 'issues' | 'cause', value: unknown): void {
  if (Reflect.get(error, name) !== value)
    Reflect.defineProperty(error, name, { value, configurable: true, writable: true });
}

const maskedBy =
  (redact: (text: string) => string) =>
  (issue: Issue): Issue => ({ ...issue, path: redact(issue.path), message: redact(issue.message) });
