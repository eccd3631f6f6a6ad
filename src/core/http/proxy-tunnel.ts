/**
 * A forward proxy of the operator, such as Smokescreen: a second line behind the egress guard, for networks where only the proxy
 * can connect outward. Everything uses a CONNECT tunnel, plain http too, so the proxy sees host and port of a request but neither
 * headers nor body.
 */
import { type IncomingMessage, request } from 'node:http';
import { isIP } from 'node:net';
import { type buildConnector, errors } from 'undici';
import { egressBlocked } from './egress-blocked.ts';
import { headerBytesMax } from './header-limit.ts';

/** The address is the operator's and is not checked. */
export interface EgressProxy {
  readonly host: string;
  readonly port: number;
  /** The `Proxy-Authorization` header; `null` if the proxy needs none. */
  readonly authorization: string | null;
}

/** Shown instead of an invalid value. */
export const egressProxyForm = 'http://host:port or http://user:password@host:port, with % escapes in both';

/** `null` when the text does not have the form of {@link egressProxyForm}. */
export function parseEgressProxy(text: string): EgressProxy | null {
  const url = withPort.test(text) ? URL.parse(text) : null;
  if (url === null) return null;
  const port = url.port === '' ? 80 : Number(url.port);
  const authorization = basicOf(url);
  if (port === 0 || authorization === undefined) return null;
  return { host: bare(url.hostname), port, authorization };
}

/** The port is required: a URL without one means 80, which is rarely intended. */
const withPort = /^http:\/\/[^\s/?#\\]+:\d{1,5}\/?$/;

/** `null` without a user; undefined when an escape is invalid. */
function basicOf({ username, password }: URL): string | null | undefined {
  if (username === '' && password === '') return null;
  try {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(pair).toString('base64')}`;
  } catch {
    return undefined;
  }
}

const bare = (host: string): string => host.replace(/^\[|\]$/g, '');

/** A name is resolved by the proxy. */
export interface TunnelEnd {
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
}

/**
 * The bytes after the proxy's response are still unread in the socket. Passes `egress_blocked` when the proxy's rules forbid
 * `end`, otherwise an error that is worth a retry. No error contains text of the proxy or its credentials.
 */
export function openTunnel(
  proxy: EgressProxy,
  end: TunnelEnd,
  { timeoutMs, callback }: { readonly timeoutMs: number; readonly callback: buildConnector.Callback },
): void {
  const authority = `${isIP(end.host) === 6 ? `[${end.host}]` : end.host}:${end.port}`;
  const connect = request({
    agent: false,
    host: proxy.host,
    port: proxy.port,
    method: 'CONNECT',
    path: authority,
    headers: {
      host: authority,
      // Node would send close, which a proxy may apply to the tunnel.
      connection: 'keep-alive',
      ...(proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization }),
    },
    maxHeaderSize: headerBytesMax,
  });
  const timer = setTimeout(() => connect.destroy(new errors.ConnectTimeoutError(silence)), timeoutMs);
  connect.on('connect', (response, socket, early) => {
    clearTimeout(timer);
    const rejection = rejectionOf(response);
    if (rejection === null) {
      if (early.length > 0) socket.unshift(early);
      callback(null, socket);
    } else {
      socket.destroy();
      callback(rejection, null);
    }
  });
  connect.on('error', (error) => {
    clearTimeout(timer);
    callback(error instanceof errors.ConnectTimeoutError ? error : unreachable(error), null);
  });
  connect.end();
}

const silence = 'The proxy of EGRESS_PROXY did not open a tunnel in time';

/** The error of an unreachable proxy, without the code of its cause: `ECONNREFUSED` would read as if the target had refused. */
const unreachable = (cause: Error): Error =>
  new Error('The proxy of EGRESS_PROXY could not be reached, or sent no valid HTTP response', { cause });

/**
 * Most proxies respond 403 when a rule forbids the target. Smokescreen responds 407 without asking for credentials: a real
 * request for them must name their scheme (RFC 9110, 15.5.8).
 */
function rejectionOf({ statusCode = 0, headers }: IncomingMessage): Error | null {
  if (statusCode >= 200 && statusCode < 300) return null;
  const credentials = statusCode === 407 && headers['proxy-authenticate'] !== undefined;
  if (credentials)
    return new Error('The proxy of EGRESS_PROXY requires other credentials (407): correct its user:password');
  if (statusCode === 403 || statusCode === 407) return egressBlocked('address');
  return new Error(`The proxy of EGRESS_PROXY opened no tunnel (${statusCode})`);
}
