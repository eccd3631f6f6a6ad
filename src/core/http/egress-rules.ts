/** What the operator's rules say of a URL, a name and an address. Nothing is resolved here, and no socket is opened. */
import { isIP } from 'node:net';
import type ip from 'ipaddr.js';
import {
  type AddressRange,
  type AllowEntry,
  isMetadataAddress,
  isPublicAddress,
  matches,
  parseAddress,
} from './addresses.ts';
import type { BlockReason } from './egress-blocked.ts';
import { isBadPort } from './ports.ts';
import type { EgressProxy } from './proxy-tunnel.ts';

/** The rules of the operator. */
export interface EgressRules {
  readonly allow: readonly AllowEntry[];
  /** Wins over `allow`. */
  readonly deny: readonly AddressRange[];
  /** Plain http to public addresses. */
  readonly allowHttp: boolean;
  /** Takes every socket for HTTP, and resolves and checks the names; databases are reached without it. Null: none. */
  readonly proxy?: EgressProxy | null;
}

/** The parts of the check that need no DNS; null lets the URL pass. */
export function urlBlockReason(url: URL, rules: EgressRules): BlockReason | null {
  const plain = url.protocol === 'http:';
  if (!plain && url.protocol !== 'https:') return 'scheme';
  if (url.username !== '' || url.password !== '') return 'userinfo';
  if (url.hostname === '') return 'host';
  const port = url.port === '' ? (plain ? 80 : 443) : Number(url.port);
  if (port === 0 || isBadPort(port)) return 'port';
  const { host } = httpTarget(url);
  if (isIP(host) === 0) return nameBlockReason(host, { port, plain }, rules);
  const listed = isAllowListed(host, { host, port }, rules);
  if (listed === null) return 'address';
  return plain && !listed && !rules.allowHttp ? 'plain_http' : null;
}

/**
 * What a name says by itself: local names need an entry of the allow list, plain http one for its port. Behind a proxy
 * no address will be checked, so there the entry must have the name.
 */
export function nameBlockReason(
  host: string,
  { port, plain }: { readonly port: number; readonly plain: boolean },
  { allow, allowHttp, proxy }: EgressRules,
): BlockReason | null {
  const named = (entry: AllowEntry): boolean => 'host' in entry && entry.host === host.toLowerCase();
  const listed = allow.some((entry) => entry.port === port && (!proxy || named(entry)));
  if (localName.test(host) && !listed) return 'address';
  return plain && !allowHttp && !listed ? 'plain_http' : null;
}

/** RFC 6761: never on the public internet, whatever a resolver says. */
const localName = /^(?:.+\.)?localhost\.?$/i;

/** Where a socket leads. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/** Where a socket for HTTP leads. */
export interface HttpTarget extends Target {
  /** Http, not https. */
  readonly plain: boolean;
}

/** Where a URL leads; the host has no brackets. */
export function httpTarget({ protocol, hostname, port }: Pick<URL, 'protocol' | 'hostname' | 'port'>): HttpTarget {
  const plain = protocol === 'http:';
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (plain ? 80 : 443), plain };
}

/** Whether an address is on the allow list; false: not on it but public; null: forbidden. */
export function isAllowListed(text: string, target: Target, rules: EgressRules): boolean | null {
  const address = parseAddress(text);
  if (address === null || isMetadataAddress(address)) return null;
  if (rules.deny.some((range) => matches(address, range))) return null;
  if (rules.allow.some((entry) => opens(entry, address, target))) return true;
  return isPublicAddress(address) ? false : null;
}

const opens = (entry: AllowEntry, address: ip.IPv4 | ip.IPv6, target: Target): boolean =>
  entry.port === target.port &&
  ('range' in entry ? matches(address, entry.range) : entry.host === target.host.toLowerCase());
