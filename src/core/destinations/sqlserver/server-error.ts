import { hasCode } from '../../error-code.ts';

/** A server's message repeats values of rows, so it is left out. */
export class SqlServerFailure extends Error {
  override readonly name = 'SqlServerFailure';
  readonly number: number;
  readonly isLogin: boolean;

  constructor(number: number, isLogin = false) {
    super(`error ${number}`);
    this.number = number;
    this.isLogin = isLogin;
  }
}

/** As tedious gives it. */
export interface ServerError {
  readonly number: number;
  /** Severity: 20 and more ends the connection. */
  readonly class: number;
  readonly message: string;
}

/** The first of several errors; `null` for failures of the network or the driver. */
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

export const isConflict = (error: unknown): boolean => isAny(error, conflictNumbers, /lock timeout/i);

/** The cause may be a temporary state. */
export const isUnnumbered = (error: unknown): boolean => serverError(error)?.number === unnumbered;

/** The database does not exist, or is moving to another server. */
export const isDatabaseAway = (error: unknown): boolean => isLoginError(error, databaseAway);

export const isLoginRefused = (error: unknown): boolean => isLoginError(error, 18_456);

const isLoginError = (error: unknown, number: number): boolean =>
  error instanceof SqlServerFailure && error.isLogin && error.number === number;

export const databaseAway = 4060;

/** Another session wrote the same rows in between; the number is the server's own for an update conflict. */
export const lostRace = (): Error => new SqlServerFailure(3960);

/** Because of a lost race, or because of the row. */
export const isDuplicateKey = (error: unknown): boolean => isAny(error, [2601, 2627]);

export const isDuplicateObject = (error: unknown): boolean =>
  isAny(error, [1913, 2601, 2627, 2705, 2714, 2759], /already exists/i);

/** True for every failure except a plain server error, since its effect may be unknown. */
export function endsConnection(error: unknown): boolean {
  const found = serverError(error);
  return found === null || found.class >= 20 || sessionEnds.includes(found.number);
}

/** Azure ends a session that holds too much: time, locks, log space, sort space, memory. */
export const sessionEnds: readonly number[] = [40_549, 40_550, 40_551, 40_552, 40_553];

/** Adds the server's error number, which the driver omits; `null` if none is known. Returns other errors unchanged. */
export const loginFailure = (error: unknown, number: number | null): unknown =>
  hasCode(error, 'ELOGIN') && number !== null ? new SqlServerFailure(number, true) : error;
