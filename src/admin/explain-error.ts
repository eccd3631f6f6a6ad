import { UnknownMigrationError } from '../../db/migrate.ts';
import { ConfigError } from '../config/config.ts';
import { WrongKeyRingError } from '../control/orgs/key-ring-check.ts';
import { AppError } from '../core/errors.ts';
import { cleanError, type LogFields, maskSecrets } from '../log.ts';

/**
 * Text of an error for an operator's terminal, without secrets and values. Errors that explain themselves keep their
 * message, refusals of a database or network become a sentence, and others appear as in the log.
 */
export function explainError(error: unknown): string {
  if (!(error instanceof Error)) return 'A value that is not an error was thrown.';
  if (error instanceof AppError)
    return [error.message, ...(error.issues ?? []).map(issueLine)].map(maskSecrets).join('\n  ');
  if (selfExplaining.some((kind) => error instanceof kind)) return maskSecrets(error.message);
  const causes = causesOf(error);
  const lines = causes.map((cause) => reasonOf(cause) ?? cleaned(cause));
  const isKnown = causes.some((cause) => reasonOf(cause) !== null);
  return isKnown ? lines.join(': ') : [lines.join(': '), cleanError(causes.at(-1) ?? error)['stack']].join('\n');
}

export function printError(error: unknown): void {
  process.stderr.write(`${explainError(error)}\n`);
}

const selfExplaining = [WrongKeyRingError, ConfigError, UnknownMigrationError];

/** Reasons by code or, where a driver gives none, by its constant message. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  ETIMEDOUT: 'no response in time',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name cannot be resolved now',
  '28P01': 'the database refuses the user name or the password',
  '28000': 'the database refuses the user',
  '3D000': 'the database does not exist',
  '42P01': 'a table is missing: run "npm run migrate"',
  '53300': 'the database has no free connection',
  'Connection terminated unexpectedly': 'the database closed the connection',
  'The server does not support SSL connections': 'the database does not offer encryption',
  'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string': 'the database asks for a password',
};

function reasonOf(error: Error): string | null {
  const code = textOf(error, 'code');
  const key = [code, error.message].find((name) => name !== undefined && Object.hasOwn(reasons, name));
  if (key === undefined) return null;
  const peer = [textOf(error, 'hostname') ?? textOf(error, 'address'), textOf(error, 'port')].filter(Boolean).join(':');
  const reason = `${reasons[key]}${code === undefined ? '' : ` (${code})`}`;
  return maskSecrets(peer === '' ? reason : `${peer}: ${reason}`);
}

function textOf(error: Error, name: string): string | undefined {
  const value: unknown = Reflect.get(error, name);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** Our errors keep their message; foreign ones show their type and codes. */
function cleaned(error: Error): string {
  const { message, type, stack: _stack, cause: _cause, ...facts }: LogFields = cleanError(error);
  return [message ?? type, ...Object.entries(facts).map(([name, value]) => `${name}=${String(value)}`)].join(' ');
}

/** The chain of causes; an aggregate of connection attempts counts as its last one. */
function causesOf(error: Error): readonly Error[] {
  const causes = [error];
  for (let next: unknown = error.cause; next instanceof Error && causes.length < 5; next = next.cause)
    causes.push(next);
  return causes.map((cause) => (cause instanceof AggregateError ? lastOf(cause) : cause));
}

function lastOf(aggregate: AggregateError): Error {
  const last: unknown = aggregate.errors.at(-1);
  return last instanceof Error ? last : aggregate;
}

const issueLine = ({ path, message }: { readonly path: string; readonly message: string }): string =>
  `${path}: ${message}`;
