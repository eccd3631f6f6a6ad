import { AppError } from '../errors.ts';

export type ConnectionError = 'timeout' | 'connect_refused' | 'connection_reset' | 'dns_error' | 'tls_error';

export type PostErrorCode = ConnectionError | 'egress_blocked' | 'redirect' | 'http_status' | 'body_too_slow';

export interface PostProgress {
  readonly expired: boolean;
  readonly responded: boolean;
}

export function postErrorOf(error: unknown, { expired, responded }: PostProgress): PostErrorCode {
  if (error instanceof AppError) return 'egress_blocked';
  if (expired) return responded ? 'body_too_slow' : 'timeout';
  return connectionErrorOf(error);
}

/** `connection_reset` is the remainder, after all errors with a known cause: the receiver may have seen the request. */
export function connectionErrorOf(error: unknown): ConnectionError {
  const code = textOf(error, 'code');
  if (textOf(error, 'syscall') === 'getaddrinfo') return 'dns_error';
  if (timeoutCodes.has(code)) return 'timeout';
  if (refusedCodes.has(code)) return 'connect_refused';
  return tlsCode.test(code) ? 'tls_error' : 'connection_reset';
}

const timeoutCodes: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']);
const refusedCodes: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL']);
/** OpenSSL's and Node's names for a failed handshake or a rejected certificate. */
const tlsCode =
  /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH_|EPROTO$)/;

function textOf(error: unknown, name: 'code' | 'syscall'): string {
  if (!(error instanceof Error)) return '';
  const value: unknown = name in error ? error[name as keyof Error] : '';
  return typeof value === 'string' ? value : '';
}
