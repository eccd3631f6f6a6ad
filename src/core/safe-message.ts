import { codeOf } from './error-code.ts';

/**
 * The message of a network, TLS, Temporal or PostgreSQL driver error. PostgreSQL's own messages repeat row values, so
 * its condition is named instead. `null` if no part is known to be safe.
 */
export function safeMessage(error: Error): string | null {
  if (error instanceof AggregateError) return lastOf(error);
  const { message } = error;
  const code = codeOf(error);
  if (isOfSystem(error)) return message.replace(/ '.*$/s, '');
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'the certificate is for another name';
  if (isOfTls(code) || isOfTemporal(error)) return message;
  if (isOfPostgres(error)) return conditionOf(code);
  return safeMessages.exec(message)?.[0] ?? null;
}

/** Several attempts to connect; the last error stands for all of them. */
function lastOf({ errors }: AggregateError): string | null {
  const last: unknown = errors.at(-1);
  return last instanceof Error ? safeMessage(last) : null;
}

/** `connect ECONNREFUSED 127.0.0.1:5432`, or `ENOENT: no such file or directory, open '…'`, whose path may be part of a URL. */
const isOfSystem = (error: Error): boolean => 'syscall' in error && typeof error.syscall === 'string';

const isOfTls = (code: string): boolean =>
  /^(?:CERT_|DEPTH_ZERO_|ERR_SSL_|ERR_TLS_|HOSTNAME_MISMATCH|SELF_SIGNED_|UNABLE_TO_)/.test(code);

/** A gRPC status with its text, an error that the SDK makes of one, or a failure from a history. */
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

/** By the start of a SQLSTATE, longest match first. */
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

/** Constant messages of PostgreSQL's driver, and constant parts of V8's. */
const safeMessages =
  /^(?:Connection terminated(?: unexpectedly| due to connection timeout)?$|timeout exceeded when trying to connect$|Query read timeout$|Client has encountered a connection error and is not queryable$|The server does not support SSL connections$|Cannot (?:read|set) properties of (?:null|undefined)(?= |$)|Maximum call stack size exceeded$)/;
