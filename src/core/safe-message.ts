/** What an error of a library says, as far as it cannot repeat a value that it was given. */
import { codeOf } from './error-code.ts';

/**
 * The message of an error of the network, of TLS, of Temporal or of PostgreSQL's driver. PostgreSQL's own messages repeat
 * values of rows, so its condition is named instead. Null: nothing of what it says is known to be safe.
 */
export function safeMessage(error: Error): string | null {
  if (error instanceof AggregateError) return lastOf(error);
  const { message } = error;
  const code = codeOf(error);
  if (isOfSystem(error)) return message.replace(/ '.*$/s, '');
  if (isOfTls(code) || isOfTemporal(error)) return message;
  if (isOfPostgres(error)) return conditionOf(code);
  return safeMessages.exec(message)?.[0] ?? null;
}

/** Several attempts to connect: the last one, which all of them ended like. */
function lastOf({ errors }: AggregateError): string | null {
  const last: unknown = errors.at(-1);
  return last instanceof Error ? safeMessage(last) : null;
}

/** `connect ECONNREFUSED 127.0.0.1:5432`, or `ENOENT: no such file or directory, open '…'`, whose path may be part of a URL. */
const isOfSystem = (error: Error): boolean => 'syscall' in error && typeof error.syscall === 'string';

const isOfTls = (code: string): boolean =>
  /^(?:CERT_|DEPTH_ZERO_|ERR_SSL_|ERR_TLS_|HOSTNAME_MISMATCH|SELF_SIGNED_|UNABLE_TO_)/.test(code);

/** A status of gRPC with its text, what the SDK makes of one, or a failure that a history holds as it is. */
const isOfTemporal = (error: Error): boolean =>
  ('details' in error && 'code' in error && typeof error.code === 'number') || temporalErrors.has(error.name);

const temporalErrors: ReadonlySet<string> = new Set([
  'ActivityFailure',
  'ApplicationFailure',
  'CancelledFailure',
  'NamespaceNotFoundError',
  'ScheduleNotFoundError',
  'ServiceError',
  'TimeoutFailure',
  'TransportError',
  'WorkflowExecutionAlreadyStartedError',
  'WorkflowNotFoundError',
]);

const isOfPostgres = (error: Error): boolean => 'severity' in error && /^[0-9A-Z]{5}$/.test(codeOf(error));

const conditionOf = (sqlstate: string): string => {
  const [, condition] = conditions.find(([state]) => sqlstate.startsWith(state)) ?? ['', 'refused a statement'];
  return `PostgreSQL ${condition} (SQLSTATE ${sqlstate})`;
};

/** By the begin of a SQLSTATE, the longest match first. */
const conditions = [
  ['08', 'lost the connection'],
  ['22', 'refused a value that does not fit its column'],
  ['23502', 'refused a null'],
  ['23503', 'refused a row that references a missing one'],
  ['23505', 'refused a duplicate'],
  ['23', 'refused a row by a constraint'],
  ['25', 'refused a statement in the state of its transaction'],
  ['28', 'refused the user or the password'],
  ['3D', 'has no such database'],
  ['40P01', 'ended a deadlock'],
  ['40', 'rolled a conflicting transaction back'],
  ['42501', 'refused for lack of a privilege'],
  ['42', 'does not know what a statement names: is it migrated?'],
  ['53', 'is out of disk, memory or connections'],
  ['55', 'found it locked or in use'],
  ['57014', 'canceled a statement that took too long'],
  ['57', 'is shutting down or starting'],
  ['58', 'had a system error'],
  ['XX', 'had an internal error'],
] as const;

/** Constant ones of PostgreSQL's driver, and the constant parts of V8's. */
const safeMessages =
  /^(?:Connection terminated(?: unexpectedly| due to connection timeout)?$|timeout exceeded when trying to connect$|Query read timeout$|Client has encountered a connection error and is not queryable$|The server does not support SSL connections$|Cannot (?:read|set) properties of (?:null|undefined)(?= |$)|Maximum call stack size exceeded$)/;
