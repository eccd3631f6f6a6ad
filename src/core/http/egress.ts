import { lookup as dnsLookup } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import { hasCode } from '../error-code.ts';
import { AppError } from '../errors.ts';
import { inTime } from '../work/in-time.ts';
import { parseAddress } from './addresses.ts';
import { egressBlocked, explainBlock } from './egress-blocked.ts';
import {
  type EgressRules,
  type HttpTarget,
  httpTarget,
  isAllowListed,
  nameBlockReason,
  type Target,
  urlBlockReason,
} from './egress-rules.ts';
import { createFairLookup, type Lookup } from './fair-lookup.ts';
import { type EgressProxy, openTunnel } from './proxy-tunnel.ts';

interface VettedAddress {
  readonly address: string;
  readonly family: 4 | 6;
  /** Plain http and unencrypted database sessions are allowed to such an address. */
  readonly allowListed: boolean;
}

/** Every refusal is `egress_blocked` with a reason class, never an address. */
export interface EgressGuard {
  /** A name passes, and its addresses are checked at connect time. */
  checkUrl(url: URL): void;
  /** Text for a 400; `null` if {@link EgressGuard.checkUrl} lets the URL pass. Takes any text. */
  urlIssue(url: string): string | null;
  /**
   * Checks names by their current addresses (behind a proxy by name only). Throws `egress_blocked`, or a plain error when DNS did
   * not respond. The result may change: every socket is checked again.
   */
  vetUrl(url: URL): Promise<void>;
  /**
   * At least one address, all allowed. Connect to one of these, never to `host` again. Throws `egress_blocked`, or a plain error
   * when DNS did not respond (worth a retry).
   */
  vetHost(host: string, port: number): Promise<readonly VettedAddress[]>;
  /** For an undici dispatcher: opens sockets to vetted addresses only, or tunnels through the proxy. */
  connector(): buildConnector.connector;
}

export interface EgressOptions extends EgressRules {
  readonly lookup?: Lookup;
}

/** Milliseconds for one DNS lookup, again for one connect or tunnel, and again for TLS inside a tunnel. */
const connectTimeoutMs = 5_000;

/** More than any honest service has. A longer list is refused, not truncated. */
const addressesMax = 16;

/**
 * Names are resolved once per connection and the socket is pinned to the checked addresses, so DNS rebinding between check and
 * use has no effect. One bad address among good ones refuses them all.
 */
export function createEgressGuard(options: EgressOptions): EgressGuard {
  const lookup = options.lookup ?? systemLookup;

  const checkUrl = (url: URL): void => {
    const reason = urlBlockReason(url, options);
    if (reason !== null) throw egressBlocked(reason);
  };

  const vet = async (host: string, port: number): Promise<readonly VettedAddress[]> => {
    const addresses = isIP(host) === 0 ? await addressesOf(host, lookup) : [host];
    if (addresses.length === 0 || addresses.length > addressesMax) throw egressBlocked('address');
    return addresses.map((address) => vetAddress(address, { host, port }, options));
  };

  const vetForHttp = async ({ host, port, plain }: HttpTarget): Promise<readonly VettedAddress[]> => {
    const vetted = await vet(host, port);
    if (plain && !options.allowHttp && !vetted.every((one) => one.allowListed)) throw egressBlocked('plain_http');
    return vetted;
  };

  /** A name is passed to the proxy unresolved: the proxy may resolve it differently. */
  const vetForProxy = async (target: HttpTarget): Promise<void> => {
    if (isIP(target.host) !== 0) return void (await vetForHttp(target));
    const reason = nameBlockReason(target.host, target, options);
    if (reason !== null) throw egressBlocked(reason);
  };

  const openSocket: (...args: Parameters<buildConnector.connector>) => Promise<void> = async (target, callback) => {
    try {
      const end = httpTarget(target);
      if (!options.proxy) return connectPinned(target, await vetForHttp(end), callback);
      await vetForProxy(end);
      connectThrough(options.proxy, target, callback);
    } catch (error) {
      callback(asError(error), null);
    }
  };

  return {
    checkUrl,
    urlIssue: (text) => {
      const reason = URL.canParse(text) ? urlBlockReason(new URL(text), options) : 'host';
      return reason === null ? null : explainBlock(reason);
    },
    vetUrl: async (url) => {
      checkUrl(url);
      await (options.proxy ? vetForProxy : vetForHttp)(httpTarget(url));
    },
    vetHost: async (host, port) => {
      if (!databaseHost.test(host) && isIP(host) === 0) throw egressBlocked('host');
      if (host.includes('%')) throw egressBlocked('host');
      if (!Number.isInteger(port) || port < 1 || port > 65_535) throw egressBlocked('port');
      return vet(host, port);
    },
    connector: () => (target, callback) => {
      void openSocket(target, callback);
    },
  };
}

/** Letters and digits of any script with `. - _`: excludes sockets (`/`), lists (`,`), DSNs, ports and zone ids. */
const databaseHost = /^[\p{L}\p{N}\p{M}._-]+$/u;

function vetAddress(address: string, target: Target, options: EgressOptions): VettedAddress {
  const allowListed = isAllowListed(address, target, options);
  if (allowListed === null) throw egressBlocked('address');
  return { address, family: address.includes(':') ? 6 : 4, allowListed };
}

/** A name without addresses is refused with the same reason as a private one: the difference would map the internal network. */
async function addressesOf(host: string, lookup: Lookup): Promise<readonly string[]> {
  const late = Object.assign(new Error(`DNS did not respond within ${connectTimeoutMs / 1000} s`), {
    syscall: 'getaddrinfo',
  });
  try {
    return await inTime(lookup(host), { ms: connectTimeoutMs, late });
  } catch (error) {
    if (hasCode(error, 'ENOTFOUND')) return [];
    throw error;
  }
}

/** One for the process, since its threads are shared. */
const systemLookup = createFairLookup(async (host) => {
  const addresses = await dnsLookup(host, { all: true, order: 'verbatim' });
  return addresses.map(({ address }) => address);
});

/** The name stays for SNI, certificate check and Host header; only the address lookup is replaced. */
function connectPinned(
  target: buildConnector.Options,
  vetted: readonly VettedAddress[],
  callback: buildConnector.Callback,
): void {
  const connect = buildConnector({
    allowH2: false,
    autoSelectFamily: true,
    lookup: pinnedLookup(vetted),
    timeout: connectTimeoutMs,
  });
  connect(target, (...[error, socket]) => {
    if (error !== null) return callback(error, null);
    if (isVetted(socket, vetted)) return callback(null, socket);
    socket.destroy();
    return callback(egressBlocked('address'), null);
  });
}

/** TLS is with the target, its name and its certificate: the proxy carries bytes that it cannot read. */
function connectThrough(proxy: EgressProxy, target: buildConnector.Options, callback: buildConnector.Callback): void {
  const end = httpTarget(target);
  const secure = buildConnector({ allowH2: false, timeout: connectTimeoutMs });
  openTunnel(proxy, end, {
    timeoutMs: connectTimeoutMs,
    callback: (...[error, socket]) => {
      if (error !== null) callback(error, null);
      else if (end.plain) callback(null, socket);
      else secure({ ...target, httpSocket: socket }, callback);
    },
  });
}

/** Node asks for all addresses or for one; `vetted` is never empty, on which Node 24.21 would crash. */
const pinnedLookup =
  (vetted: readonly VettedAddress[]): LookupFunction =>
  (_host, lookupOptions, callback) => {
    const [first] = vetted;
    if (lookupOptions.all || first === undefined) callback(null, [...vetted]);
    else callback(null, first.address, first.family);
  };

/** Holds even if a later undici or Node bypasses the pinned lookup. */
function isVetted(socket: Socket, vetted: readonly VettedAddress[]): boolean {
  const remote = parseAddress(socket.remoteAddress ?? '');
  return remote !== null && vetted.some(({ address }) => parseAddress(address)?.toString() === remote.toString());
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new AppError('internal', 'The connection failed.', { cause: error });
