import { codeOf } from '../src/core/error-code.ts';

// Known by identity: whoever reads the code, the address or the cause of such an error finds it as the driver made it.
const away = new WeakSet<Error>();

/** Notes that no connection was opened: refused, not in time, or by a server that starts, stops or has no place. */
export function noteUnopened(error: unknown): void {
  if (error instanceof Error) away.add(error);
}

/** Notes a failed statement whose connection broke, or whose server ended it. */
export function noteBroken(error: unknown): void {
  if (error instanceof Error && (brokenCodes.test(codeOf(error)) || brokenMessages.test(error.message)))
    away.add(error);
}

/** Codes of sockets; of PostgreSQL the class 08, and what it says while it stops or starts. */
const brokenCodes = /^(?:E[A-Z]+|08(?!P01)...|57P0[123])$/;
/** Of the driver, which gives them no code. */
const brokenMessages = /^Connection terminated|is not queryable$|^Query read timeout$/;

/** Whether an error says that the control database is away, and nothing about the statement. */
export const isDatabaseAway = (error: unknown): boolean => error instanceof Error && away.has(error);
