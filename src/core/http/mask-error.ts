import { AppError, type Issue } from '../errors.ts';
import { ThrottledError } from '../model/throttled.ts';

/** No failure of this service has more causes. */
const causesMax = 10;

/** An API may echo a secret in a message or an address. The object stays the same, so that callers still recognize it. */
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

/** The properties of an abort error have no setters. */
function replace(error: Error, name: 'message' | 'stack' | 'issues' | 'cause', value: unknown): void {
  if (Reflect.get(error, name) !== value)
    Reflect.defineProperty(error, name, { value, configurable: true, writable: true });
}

const maskedBy =
  (redact: (text: string) => string) =>
  (issue: Issue): Issue => ({ ...issue, path: redact(issue.path), message: redact(issue.message) });
