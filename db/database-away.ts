import { codeOf } from '../src/core/error-code.ts';

// Known by identity, so that code, address and cause stay as the driver set them.
const away = new WeakSet<Error>();

/** Notes that no connection was opened: refused, too late, or by a server that starts, stops or is full. */
export function noteUnopened(error: unknown): void {
  if (error instanceof Error) away.add(error);
}

export function noteBroken(error: unknown): void {
  if (error instanceof Error && (brokenCodes.test(codeOf(error)) || brokenMessages.test(error.message)))
    away.add(error);
}

/** Codes of sockets, PostgreSQL's class 08, and the codes of a server that stops or starts. */
const brokenCodes = /^(?:E[A-Z]+|08(?!P01)...|57P0[123])$/;
/** The driver gives these errors no code. */
const brokenMessages = /^Connection terminated|is not queryable$|^Query read timeout$/;

/** Whether an error only says that the control database is away, and nothing about the statement. */
export const isDatabaseAway = (error: unknown): boolean => error instanceof Error && away.has(error);
