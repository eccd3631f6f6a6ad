/** The operator's rules. Nothing is resolved here, and no socket is opened. */
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

export interface EgressRules {
  readonly allow: readonly AllowEntry[];
  /** Takes precedence over `allow`. */
  readonly deny: readonly AddressRange[];
  /** For public addresses. */
  readonly allowHttp: boolean;
  /**
   * Carries every socket for HTTP, and resolves and checks the names; databases are reached without it. `null` if there isn't
   * one.
   */
  readonly proxy?: EgressProxy | null;
}

/** Checks that need no DNS; `null` lets the URL pass. */
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
 * Local names, and plain http, need an entry of the allow list for the port. Behind a proxy no address will be checked, so there
 * the entry must have the name.
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

/** RFC 6761: never on the public internet, even if a resolver says so. */
const localName = /^(?:.+\.)?localhost\.?$/i;

export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface HttpTarget extends Target {
  readonly plain: boolean;
}

/** The host has no brackets. */
export function httpTarget({ protocol, hostname, port }: Pick<URL, 'protocol' | 'hostname' | 'port'>): HttpTarget {
  const plain = protocol === 'http:';
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (plain ? 80 : 443), plain };
}

/** True for an address on the allow list, false for another public one, `null` for a forbidden one. */
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
