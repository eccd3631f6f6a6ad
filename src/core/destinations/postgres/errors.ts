import pg from 'pg';
import { codeOf, hasCode } from '../../error-code.ts';
import { AppError } from '../../errors.ts';
import { PostgresProtocolError } from './message.ts';

/** A server's message and detail repeat values of rows, so they are left out. */
class PostgresFailure extends Error {
  override readonly name = 'PostgresFailure';
  /** Five characters; `null` for failures of the network or the driver. */
  readonly sqlstate: string | null;

  constructor(message: string, sqlstate: string | null) {
    super(message);
    this.sqlstate = sqlstate;
  }
}

const sqlstateOf = (error: unknown): string | null =>
  error instanceof pg.DatabaseError && error.code !== undefined ? error.code : null;

/** Data exception, constraint, index entry too long, refused by a trigger. */
export const blamesRow = (error: unknown): boolean => startsWithAny(sqlstateOf(error), ['22', '23', '54000', 'P0001']);

/** Whether a row exists already, or another row has the same unique value. */
export const isDuplicateKey = (error: unknown): boolean => sqlstateOf(error) === '23505';

export const isConflict = (error: unknown): boolean => startsWithAny(sqlstateOf(error), ['40001', '40P01']);

/** Whether the server has dropped a prepared statement, keeps another under its name, or can no longer use it. */
export const losesPrepared = (error: unknown): boolean => startsWithAny(sqlstateOf(error), ['26000', '42P05', '0A000']);

export const isDuplicateObject = (error: unknown): boolean =>
  startsWithAny(sqlstateOf(error), ['42P06', '42P07', '42701', '42710', '23505']);

/** True for a failure of the network or the driver, or one after which the server closes the connection. */
export const endsConnection = (error: unknown): boolean =>
  !(error instanceof pg.DatabaseError) || error.severity === 'FATAL' || error.severity === 'PANIC';

/** Whether another address of the same host may still respond. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof Error &&
  (hasCode(error, 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT') || error.message === 'timeout expired');

/** Names columns and constraints, never values. */
export function rowIssue(error: unknown): string {
  if (!(error instanceof pg.DatabaseError)) return 'refused by the database';
  const { code, column, constraint } = error;
  const place = column ? ` in column "${column}"` : constraint ? ` by constraint "${constraint}"` : '';
  return `${rowReasons.find(([state]) => code?.startsWith(state))?.[1] ?? 'refused'}${place} (SQLSTATE ${code})`;
}

/** The error of a statement over rows that are already in the table. An error that no row causes is returned unchanged. */
export function wholeRefused(error: unknown, what: string): unknown {
  if (!blamesRow(error)) return error;
  const message = `${what}: ${rowIssue(error)}. Nothing was changed; correct that constraint or trigger.`;
  const sqlstate = sqlstateOf(error);
  return new AppError('destination_rejected', message, {
    cause: new PostgresFailure(`SQLSTATE ${sqlstate}`, sqlstate),
  });
}

/** By SQLSTATE prefix, the longest first. */
const rowReasons = [
  ['22001', 'a text is too long'],
  ['22003', 'a number is out of range'],
  ['22', 'a value does not fit its column'],
  ['23502', 'null is not allowed'],
  ['23503', 'refused because a referenced row is missing,'],
  ['23505', 'refused as a duplicate'],
  ['23', 'refused'],
  ['54000', 'the record id or an indexed value is too long'],
  ['P0001', 'refused by a trigger'],
] as const;

/** By SQLSTATE (whole or its class); the first match counts. Failures without a SQLSTATE are the network's. */
const verdicts: readonly (readonly [
  string,
  'destination_unavailable' | 'destination_rejected' | 'destination_login',
  string,
])[] = [
  ['08', 'destination_unavailable', 'the connection failed'],
  [
    '25006',
    'destination_unavailable',
    'it is read-only: a replica, or default_transaction_read_only is on; send the URL of the primary, or let it write',
  ],
  ['25P03', 'destination_unavailable', 'the server ended an idle transaction'],
  ['28', 'destination_login', 'the server refused user or password; correct them'],
  ['3D000', 'destination_rejected', 'the database does not exist'],
  ['3F000', 'destination_rejected', 'the schema does not exist'],
  ['40', 'destination_unavailable', 'conflicts with other transactions persisted'],
  [
    '42501',
    'destination_rejected',
    'the role lacks a privilege; grant it CREATE on the schema and ownership of the table',
  ],
  ['42703', 'destination_rejected', 'a column was removed during the run; start the run again'],
  ['42P01', 'destination_rejected', 'a table was removed during the run; start the run again'],
  ['42804', 'destination_rejected', 'a column changed its type during the run; start the run again'],
  ['53100', 'destination_unavailable', 'its disk is full; free space there'],
  ['53200', 'destination_unavailable', 'the server is out of memory'],
  [
    '53300',
    'destination_unavailable',
    'the server has no connection left; raise max_connections or the limit of the role',
  ],
  ['53', 'destination_unavailable', 'the server lacks resources'],
  ['55', 'destination_unavailable', 'the table is locked or in use'],
  ['57', 'destination_unavailable', 'the server is shutting down, starting or took too long'],
  ['58', 'destination_unavailable', 'the server has a system error'],
  ['XX', 'destination_unavailable', 'the server has an internal error'],
];

/** Returns an AppError unchanged. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof PostgresProtocolError) {
    const text = `The postgres destination is not used: ${error.message}.`;
    return new AppError('destination_rejected', text, { cause: error });
  }
  const sqlstate = sqlstateOf(error);
  if (sqlstate === null) return driverFailure(error);
  const [, code, reason] = verdicts.find(([state]) => sqlstate.startsWith(state)) ?? fallback;
  const message = `The postgres destination failed: ${reason} (SQLSTATE ${sqlstate}).`;
  return new AppError(code, message, { cause: new PostgresFailure(`SQLSTATE ${sqlstate}`, sqlstate) });
}

const fallback = ['', 'destination_rejected', 'the server refused a statement'] as const;

/** Codes and messages of node:tls and pg that a retry cannot fix. */
const rejections: readonly (readonly [RegExp, string])[] = [
  [
    /^The server does not support SSL connections$/,
    'the server offers no encryption: turn it on there, or set ssl to "disable" where the address is on EGRESS_ALLOW',
  ],
  [
    /CERT|^UNABLE_TO_|^SELF_SIGNED|^DEPTH_ZERO|^ERR_TLS_/,
    'its certificate is not trusted; give `ca` or use ssl require',
  ],
];

function driverFailure(error: unknown): AppError {
  const { code, message } = error instanceof Error ? { code: codeOf(error), message: error.message } : noError;
  if (message.startsWith('SASL')) {
    const text = 'The postgres destination refused the login; correct user and password.';
    return new AppError('destination_login', text, { cause: new PostgresFailure('SASL', '28P01') });
  }
  const rejection = rejections.find(([pattern]) => pattern.test(code) || pattern.test(message));
  const reason = rejection ? `: ${rejection[1]}` : code ? ` (${code})` : '';
  return rejection
    ? new AppError('destination_rejected', `The postgres destination cannot be used${reason}.`, { cause: error })
    : new AppError('destination_unavailable', `The postgres destination cannot be reached${reason}.`, { cause: error });
}

const noError = { code: '', message: '' };

const startsWithAny = (sqlstate: string | null, states: readonly string[]): boolean =>
  sqlstate !== null && states.some((state) => sqlstate.startsWith(state));
