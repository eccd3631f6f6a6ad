/** Messages between the service and the process of a driver, and how errors are transferred. */
import type { Socket } from 'node:net';
import { codeOf } from '../../../error-code.ts';
import type { SqlServerAddress, SqlServerLogin } from '../address.ts';
import { SqlServerFailure } from '../server-error.ts';
import type { Load, SessionLimits, Value, Values } from './session.ts';

/** Where a socket is to lead. */
export interface SocketTarget {
  /** A name or an IP. */
  readonly host: string;
  readonly port: number;
}

/** Opens a connected socket, from which nothing has been read. */
export type OpenSocket = (target: SocketTarget, signal: AbortSignal) => Promise<Socket>;

/** Milliseconds for the server to confirm that it has given up a statement. */
export const cancelMs = 5000;

/**
 * Characters of a receipt: a longer one could not be read back. It keeps the records that were refused, so that is a page of
 * 30 MB of which none is taken.
 */
export const receiptLengthMax = 30_000_000;

/** A command to a driver, which responds once, with `done` or `failed`. One command at a time. */
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

/** Messages to the process of a driver while it carries out a command; a socket comes with `socket`. */
export type Note =
  | { readonly type: 'ping' }
  | { readonly type: 'socket' }
  | { readonly type: 'noSocket' }
  /** Rows of the result; null: there are no more. */
  | { readonly type: 'rows'; readonly rows: readonly (readonly Value[])[] | null };

/** Messages from the process of a driver. */
export type Report =
  /** The driver is loaded. */
  | { readonly type: 'ready' }
  | { readonly type: 'pong' }
  | { readonly type: 'wantsSocket'; readonly target: SocketTarget }
  | { readonly type: 'wantsRows' }
  | { readonly type: 'done'; readonly rows: readonly unknown[] }
  | { readonly type: 'failed'; readonly error: WireError }
  /** The connection has ended between commands. */
  | { readonly type: 'ended' };

/** An error as it goes from one process to another: all by which errors are classified. */
export interface WireError {
  readonly name: string;
  readonly message: string;
  /** The code of the error; empty: none. */
  readonly code: string;
  /** The server's; null: not an error of the server's. */
  readonly number: number | null;
  /** The server's severity. */
  readonly class: number | null;
  /** The server refused the login. */
  readonly isLogin: boolean;
  /** The first error of an AggregateError; null: it is none. */
  readonly first: WireError | null;
  readonly cause: WireError | null;
}

/** The part of a server's message that names the column or constraint. */
const messageLengthMax = 2000;
/** Causes of causes that are kept; errors are classified by no more. */
const depthMax = 5;

/** Takes an error apart. */
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

/** Puts an error together again. */
export function errorOf({ name, message, code, number, isLogin, first, cause, ...rest }: WireError): Error {
  if (isLogin && number !== null) return new SqlServerFailure(number, true);
  const options = cause ? { cause: errorOf(cause) } : {};
  const error = first ? new AggregateError([errorOf(first)], message, options) : new Error(message, options);
  error.name = name;
  return Object.assign(
    error,
    code && { code },
    number !== null && { number },
    rest.class !== null && { class: rest.class },
  );
}
