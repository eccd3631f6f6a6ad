import type { Socket } from 'node:net';
import { codeOf } from '../../../error-code.ts';
import type { SqlServerAddress, SqlServerLogin } from '../address.ts';
import { SqlServerFailure } from '../server-error.ts';
import type { Load, SessionLimits, Value, Values } from './session.ts';

export interface SocketTarget {
  /** A name or an IP. */
  readonly host: string;
  readonly port: number;
}

/** Nothing has been read from the socket. */
export type OpenSocket = (target: SocketTarget, signal: AbortSignal) => Promise<Socket>;

/** Milliseconds for the server to confirm that it has stopped a statement. */
export const cancelMs = 5000;

/**
 * Characters of a receipt: a longer one could not be read back. It holds the refused records, so this is a page of 30 MB that is
 * refused completely.
 */
export const receiptLengthMax = 30_000_000;

/** A driver responds once to a command, with `done` or `failed`, and takes one command at a time. */
export type Command =
  | {
      readonly type: 'open';
      readonly address: SqlServerAddress;
      readonly login: SqlServerLogin;
      readonly limits: SessionLimits;
    }
  | {
      readonly type: 'query';
      readonly sql: string;
      readonly values: Values | undefined;
      readonly timeoutMs: number;
    }
  | ({ readonly type: 'load' } & Pick<Load, 'table' | 'columns'>)
  | { readonly type: 'close' };

/** A socket comes with `socket`. */
export type Note =
  | { readonly type: 'ping' }
  | { readonly type: 'socket' }
  | { readonly type: 'noSocket' }
  /** `null` after the last rows. */
  | { readonly type: 'rows'; readonly rows: readonly (readonly Value[])[] | null };

export type Report =
  | { readonly type: 'ready' }
  | { readonly type: 'pong' }
  | { readonly type: 'wantsSocket'; readonly target: SocketTarget }
  | { readonly type: 'wantsRows' }
  | { readonly type: 'done'; readonly rows: readonly unknown[] }
  | { readonly type: 'failed'; readonly error: WireError }
  /** Between commands. */
  | { readonly type: 'ended' };

/** Has everything by which errors are classified. */
export interface WireError {
  readonly name: string;
  readonly message: string;
  readonly code: string;
  /** `null` for an error that is not the server's. */
  readonly number: number | null;
  readonly class: number | null;
  readonly isLogin: boolean;
  /** The first error of an AggregateError; `null` for other errors. */
  readonly first: WireError | null;
  readonly cause: WireError | null;
}

/** Characters of a server's message that suffice to name the column or constraint. */
const messageLengthMax = 2000;
/** Causes of causes that are kept; errors are classified by no more. */
const depthMax = 5;

export function wireError(error: unknown, depth = 0): WireError {
  const known = error instanceof Error ? error : new Error(typeof error);
  const inner = (cause: unknown) => (cause instanceof Error && depth < depthMax ? wireError(cause, depth + 1) : null);
  return {
    name: known.name,
    message: known.message.slice(0, messageLengthMax),
    code: codeOf(known),
    number: 'number' in known && typeof known.number === 'number' ? known.number : null,
    class: 'class' in known && typeof known.class === 'number' ? known.class : null,
    isLogin: known instanceof SqlServerFailure && known.isLogin,
    first: known instanceof AggregateError ? inner(known.errors[0]) : null,
    cause: inner(known.cause),
  };
}

export function errorOf({ name, message, code, number, isLogin, first, cause, ...rest }: WireError): Error {
  if (isLogin && number !== null) return new SqlServerFailure(number, true);
  const options = cause ? { cause: errorOf(cause) } : {};
  const error = first ? new AggregateError([errorOf(first)], message, options) : new Error(message, options);
  error.name = name;
  // The message is the driver's or the server's: without our frame, no log takes it for our own.
  error.stack = '';
  return Object.assign(
    error,
    code && { code },
    number !== null && { number },
    rest.class !== null && { class: rest.class },
  );
}
