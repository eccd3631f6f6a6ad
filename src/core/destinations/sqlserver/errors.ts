import { codeOf } from '../../error-code.ts';
import { AppError } from '../../errors.ts';
import {
  conflictNumbers,
  databaseAway,
  type ServerError,
  SqlServerFailure,
  serverError,
  sessionEnds,
  unnumbered,
} from './server-error.ts';

type Verdict = readonly [
  readonly number[],
  'destination_unavailable' | 'destination_rejected' | 'destination_login',
  string,
];

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

/** From this severity on, the problem is the server itself: memory, disk, hardware. */
const resourceSeverity = 17;

/** Returns an AppError unchanged, even one deep below the driver. */
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

/** Codes of tedious, node:tls and the driver's process that a retry cannot fix. */
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

/** The error and its chain of causes: the driver wraps what the connector throws. */
export function causesOf(error: unknown): readonly unknown[] {
  const causes: unknown[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 5; cause = cause.cause) causes.push(cause);
  return causes;
}
