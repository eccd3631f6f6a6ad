/** What the error of a server is, by its number. */
import { hasCode } from '../../error-code.ts';

/** The logged form of a server's error: its message repeats values of rows, so it is left out. */
export class SqlServerFailure extends Error {
  override readonly name = 'SqlServerFailure';
  readonly number: number;
  /** The server refused the login. */
  readonly isLogin: boolean;

  constructor(number: number, isLogin = false) {
    super(`error ${number}`);
    this.number = number;
    this.isLogin = isLogin;
  }
}

/** A server's error as tedious gives it. */
export interface ServerError {
  readonly number: number;
  /** Severity: 20 and more ends the connection. */
  readonly class: number;
  readonly message: string;
}

/** The server's error, the first of several; null for failures of the network or the driver. */
export function serverError(error: unknown): ServerError | null {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error) || !('number' in first) || typeof first.number !== 'number') return null;
  const severity = 'class' in first && typeof first.class === 'number' ? first.class : 0;
  return { number: first.number, class: severity, message: first.message };
}

/** The number that Babelfish gives every PostgreSQL error without a SQL Server number. */
export const unnumbered = 33_557_097;

const isAny = (error: unknown, numbers: readonly number[], unnumberedText?: RegExp): boolean => {
  const found = serverError(error);
  if (!found) return false;
  return found.number === unnumbered ? unnumberedText?.test(found.message) === true : numbers.includes(found.number);
};

/** Deadlock, lock time-out, snapshot; and what tables in memory have in place of locks. */
export const conflictNumbers: readonly number[] = [1205, 1222, 3960, 3961, 41_301, 41_302, 41_305, 41_325, 41_839];

/** Whether the transaction lost against others and can be repeated as it is. */
export const isConflict = (error: unknown): boolean => isAny(error, conflictNumbers, /lock timeout/i);

/** Whether the number does not tell the cause: it may be a temporary state. */
export const isUnnumbered = (error: unknown): boolean => serverError(error)?.number === unnumbered;

/** Whether the login found no database of the name: there is none, or it is moving to another server. */
export const isDatabaseAway = (error: unknown): boolean => isLoginError(error, databaseAway);

/** Whether the login was refused for who it was. */
export const isLoginRefused = (error: unknown): boolean => isLoginError(error, 18_456);

const isLoginError = (error: unknown, number: number): boolean =>
  error instanceof SqlServerFailure && error.isLogin && error.number === number;

/** The number of {@link isDatabaseAway}. */
export const databaseAway = 4060;

/** Another session wrote the same rows in between; its number is that of the server's own update conflict. */
export const lostRace = (): Error => new SqlServerFailure(3960);

/** Whether a key exists already: because of a lost race, or because of the row. */
export const isDuplicateKey = (error: unknown): boolean => isAny(error, [2601, 2627]);

/** Whether someone else created the same schema, table or column at the same moment. */
export const isDuplicateObject = (error: unknown): boolean =>
  isAny(error, [1913, 2601, 2627, 2705, 2714, 2759], /already exists/i);

/** Whether the connection is lost, or its effect unknown: every failure except a plain server error. */
export function endsConnection(error: unknown): boolean {
  const found = serverError(error);
  return found === null || found.class >= 20 || sessionEnds.includes(found.number);
}

/** Azure ends a session that holds too much: time, locks, space for its log or for what it sorts, memory. */
export const sessionEnds: readonly number[] = [40_549, 40_550, 40_551, 40_552, 40_553];

/**
 * A failed login, with the server's error number, which the driver leaves out. Null: none is known. Other errors pass
 * unchanged.
 */
export const loginFailure = (error: unknown, number: number | null): unknown =>
  hasCode(error, 'ELOGIN') && number !== null ? new SqlServerFailure(number, true) : error;
