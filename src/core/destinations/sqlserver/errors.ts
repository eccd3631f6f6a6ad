import { codeOf, hasCode } from '../../error-code.ts';
import { AppError } from '../../errors.ts';

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
interface ServerError {
  readonly number: number;
  /** Severity: 20 and more ends the connection. */
  readonly class: number;
  readonly message: string;
}

/** The server's error, the first of several; null for failures of the network or the driver. */
function serverError(error: unknown): ServerError | null {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error) || !('number' in first) || typeof first.number !== 'number') return null;
  const severity = 'class' in first && typeof first.class === 'number' ? first.class : 0;
  return { number: first.number, class: severity, message: first.message };
}

/** The number that Babelfish gives every PostgreSQL error without a SQL Server number. */
const unnumbered = 33_557_097;

const isAny = (error: unknown, numbers: readonly number[], unnumberedText?: RegExp): boolean => {
  const found = serverError(error);
  if (!found) return false;
  return found.number === unnumbered ? unnumberedText?.test(found.message) === true : numbers.includes(found.number);
};

/** Deadlock, lock time-out, snapshot; and what tables in memory have in place of locks. */
const conflictNumbers: readonly number[] = [1205, 1222, 3960, 3961, 41_301, 41_302, 41_305, 41_325, 41_839];

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

const databaseAway = 4060;

/** Another session wrote the same rows in between; its number is that of the server's own update conflict. */
export const lostRace = (): Error => new SqlServerFailure(3960);

/** Whether a key exists already: because of a lost race, or because of the row. */
export const isDuplicateKey = (error: unknown): boolean => isAny(error, [2601, 2627]);

/** Whether someone else created the same schema, table or column at the same moment. */
export const isDuplicateObject = (error: unknown): boolean =>
  isAny(error, [1913, 2601, 2627, 2705, 2714, 2759], /already exists/i);

/** Whether a row causes the error: constraint, conversion, length, index entry too long, refused by a trigger. */
export function blamesRow(error: unknown): boolean {
  const found = serverError(error);
  return found !== null && (rowReasons.has(found.number) || isRaised(found.number));
}

/** Whether the server refused with this number. */
export const isRowError = (error: unknown, number: number): boolean => serverError(error)?.number === number;

/** The SQL for {@link blamesRow}, of an error number that is in a variable. */
export const blamesRowSql = (variable: string): string =>
  `(${variable} in (${[...rowReasons.keys()].join(', ')}) or ${variable} >= 50000 and ${variable} <> ${unnumbered})`;

/** RAISERROR and THROW of the customer's triggers; Babelfish's own number is far beyond. */
const isRaised = (number: number): boolean => number >= 50_000 && number !== unnumbered;

/** Whether the connection is lost, or its effect unknown: every failure except a plain server error. */
export function endsConnection(error: unknown): boolean {
  const found = serverError(error);
  return found === null || found.class >= 20 || sessionEnds.includes(found.number);
}

/** Azure ends a session that holds too much: time, locks, space for its log or for what it sorts, memory. */
const sessionEnds: readonly number[] = [40_549, 40_550, 40_551, 40_552, 40_553];

/** Why the server refused a row; names columns and constraints, never values. */
export function rowIssue(error: unknown): string {
  const found = serverError(error);
  if (!found) return 'refused by the database';
  const { number, message } = found;
  const [, what, name = ''] = (namesPlace.has(number) && place.exec(message)) || [];
  const where = what === undefined ? '' : ` ${what === 'column' ? 'in' : 'by'} ${what} "${ownName(name)}"`;
  return `${rowReasons.get(number) ?? 'refused by a trigger'}${where} (error ${number})`;
}

/** Errors that name column, constraint or index before they repeat any value. */
const namesPlace: ReadonlySet<number> = new Set([515, 547, 2601, 2627, 2628]);
const place = /\b(constraint|index|column) ['"](\w{1,128})['"]/;

/** A constraint of the table where the next generation gathers is a copy of the customer's. */
const ownName = (name: string): string => name.replace(/^_css_next_/, '');

const [noFit, outOfRange, tooLong] = [
  'a value does not fit its column',
  'a number is out of range',
  'a text is too long',
];

const rowReasons: ReadonlyMap<number, string> = new Map([
  [220, outOfRange],
  [232, outOfRange],
  [241, noFit],
  [242, noFit],
  [244, outOfRange],
  [245, noFit],
  [248, outOfRange],
  [295, noFit],
  [296, outOfRange],
  [511, 'the row is too large'],
  [515, 'null is not allowed'],
  [517, outOfRange],
  [547, 'refused'],
  [550, 'refused by a view'],
  [1946, 'an indexed value is too long'],
  [2601, 'refused as a duplicate'],
  [2627, 'refused as a duplicate'],
  [2628, tooLong],
  [3609, 'refused by a trigger'],
  [3616, 'refused by a trigger'],
  [8114, noFit],
  [8115, outOfRange],
  [8134, 'a number cannot be divided by zero'],
  [8152, tooLong],
  [8169, noFit],
]);

/** The error of a statement over rows that are already in the table; an error that no row causes passes unchanged. */
export function wholeRefused(error: unknown, what: string): unknown {
  const found = serverError(error);
  if (!found || !blamesRow(error)) return error;
  const message = `${what}: ${rowIssue(error)}. Nothing was changed; correct that constraint or trigger.`;
  return new AppError('destination_rejected', message, { cause: new SqlServerFailure(found.number) });
}

/**
 * A failed login, with the server's error number, which the driver leaves out. Null: none is known. Other errors pass
 * unchanged.
 */
export const loginFailure = (error: unknown, number: number | null): unknown =>
  hasCode(error, 'ELOGIN') && number !== null ? new SqlServerFailure(number, true) : error;

type Verdict = readonly [
  readonly number[],
  'destination_unavailable' | 'destination_rejected' | 'destination_login',
  string,
];

/** Error numbers to code and reason. The only such table. */
const verdicts: readonly Verdict[] = [
  [
    [18450, 18451, 18452, 18456, 18458, 18470, 18486, 18487, 18488, 40532],
    'destination_login',
    'the server refused user or password; correct them',
  ],
  [[911, databaseAway, 4063, 4064], 'destination_rejected', 'the database does not exist or the user may not open it'],
  [[40615, 40914], 'destination_rejected', "the server's firewall blocks this service"],
  [conflictNumbers, 'destination_unavailable', 'conflicts with other transactions persisted'],
  [[207], 'destination_rejected', 'a column was removed during the run; start the run again'],
  [[208, 3701, 4902], 'destination_rejected', 'a table was removed during the run; start the run again'],
  [
    [229, 230, 262, 297, 300, 916, 1088, 2760, 15_151, 15_247],
    'destination_rejected',
    'the user lacks a privilege; grant it CREATE TABLE and CONTROL of the schema',
  ],
  [
    [1701, 1702],
    'destination_rejected',
    'the columns together are wider than a row of SQL Server can be, or more than a table can have; name fewer in ' +
      'target.columns, with target.evolve none, or give numbers fewer digits',
  ],
  [
    [457, 468],
    'destination_rejected',
    'the key columns of the table do not have the collation of the service; choose another target.table',
  ],
  [
    [921, 922, 926, 927, 952, 976, 978, 982, 983, 984, 3906, 3908],
    'destination_unavailable',
    'the database is starting, restoring or moving, and does not accept writes at the moment',
  ],
  [
    [
      ...[596, 615, 1204, 4221, 6005, 8628, 8645, 8651, 10_922, 10_928, 10_929, 10_936, 17_142, 17_187, 17_197],
      ...[18_401, 40_143, 40_197, 40_501, 40_540, 40_613, 42_108, 42_109, 42_119, 47_073, 49_918, 49_919, 49_920],
    ],
    'destination_unavailable',
    'the server is shutting down, starting, moving or overloaded',
  ],
  [
    sessionEnds,
    'destination_unavailable',
    'the server ended a session that used too many resources; ask the API for smaller pages',
  ],
];

/** Severities from here on are problems of the server itself: memory, disk, hardware. */
const resourceSeverity = 17;

/** The failure as the engine knows it. An AppError passes as it is, also from deep below the driver. */
export function toAppError(error: unknown): AppError {
  const ours = appErrorIn(error);
  if (ours) return ours;
  const found = serverError(error);
  if (!found) return driverFailure(error);
  const isLogin = error instanceof SqlServerFailure && error.isLogin;
  const [, code, reason] = verdicts.find(([numbers]) => numbers.includes(found.number)) ?? fallback(found, isLogin);
  const message = `The sqlserver destination failed: ${reason} (error ${found.number}).`;
  return new AppError(code, message, { cause: new SqlServerFailure(found.number, isLogin) });
}

function fallback({ number, class: severity }: ServerError, isLogin: boolean): Verdict {
  if (isLogin) return [[], 'destination_login', 'the server refused the login'];
  if (number === unnumbered) return [[], 'destination_unavailable', 'the server reported an error without a number'];
  return severity >= resourceSeverity
    ? [[], 'destination_unavailable', 'the server is out of disk, memory or other resources']
    : [[], 'destination_rejected', 'the server refused a statement'];
}

/** Codes of tedious, node:tls and the process of the driver that a retry cannot fix. */
const rejections: readonly (readonly [RegExp, string])[] = [
  [/^EPROTOCOL$/, 'the server does not follow the protocol of SQL Server (TDS); check host and port'],
  [/^EFLOOD$/, 'the server sends more than was requested; check host and port'],
  [/^EMEMORY$/, 'its response takes more memory than a session may have; check host and port'],
  [/^EENCRYPT$/, 'server and `encrypt` do not agree on encryption'],
  [/CERT|^UNABLE_TO_|^SELF_SIGNED|^DEPTH_ZERO|^ERR_TLS_/, 'its certificate is not trusted; give `ca`'],
];

function driverFailure(error: unknown): AppError {
  const code =
    causesOf(error)
      .map(codeOf)
      .findLast((known) => known !== '') ?? '';
  if (code === 'ELOGIN') {
    const text = 'The sqlserver destination refused the login; correct user and password.';
    return new AppError('destination_login', text);
  }
  const rejection = rejections.find(([pattern]) => pattern.test(code));
  return rejection
    ? new AppError('destination_rejected', `The sqlserver destination cannot be used: ${rejection[1]}.`, {
        cause: error,
      })
    : new AppError(
        'destination_unavailable',
        `The sqlserver destination cannot be reached${code ? ` (${code})` : ''}.`,
        { cause: error },
      );
}

const appErrorIn = (error: unknown): AppError | undefined => causesOf(error).find((cause) => cause instanceof AppError);

/** The error, what caused it, and so on: the driver wraps what the connector throws. */
export function causesOf(error: unknown): readonly unknown[] {
  const causes: unknown[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 5; cause = cause.cause) causes.push(cause);
  return causes;
}
