import ip from 'ipaddr.js';
import { type Issue, invalid, schemaIssue } from '../errors.ts';

export type AddressRange = readonly [address: ip.IPv4 | ip.IPv6, prefixBits: number];

/** Each entry opens one port. */
export type AllowEntry =
  | { readonly range: AddressRange; readonly port: number }
  | { readonly host: string; readonly port: number };

/**
 * `null` for anything but the canonical form. Resolvers never return short, octal and decimal spellings or zone ids, and guards
 * fail by reading them differently from the kernel.
 */
export function parseAddress(text: string): ip.IPv4 | ip.IPv6 | null {
  if (ip.IPv4.isValidFourPartDecimal(text)) return ip.IPv4.parse(text);
  return !text.includes('%') && text.includes(':') && ip.IPv6.isValid(text) ? ip.IPv6.parse(text) : null;
}

/** Default-deny: true only for unicast space of the public internet. Every embedding of IPv4 in IPv6 is false. */
export function isPublicAddress(address: ip.IPv4 | ip.IPv6): boolean {
  if (isMetadataAddress(address) || address.range() !== 'unicast') return false;
  return address instanceof ip.IPv4 || matches(address, globalUnicastV6);
}

/** Addresses that serve cloud credentials, even inside IPv6. No list can open them. */
export const isMetadataAddress = (address: ip.IPv4 | ip.IPv6): boolean =>
  neverAllowed.some((range) => matches(address, range));

export function matches(address: ip.IPv4 | ip.IPv6, [network, prefixBits]: AddressRange): boolean {
  if (address instanceof ip.IPv4) return network instanceof ip.IPv4 && address.match(network, prefixBits);
  return network instanceof ip.IPv6 && address.match(network, prefixBits);
}

/**
 * Written `127.0.0.1:4010,[::1]:4010,10.1.2.0/24:5432,localhost:8080`. Throws `validation` naming every bad entry, including
 * entries that touch a metadata address.
 */
export const parseAllowList = (text: string): readonly AllowEntry[] =>
  parseList('EGRESS_ALLOW', text, (entry) => {
    const match = /^(?:\[(?<v6>[^\]]*)\]|(?<other>[^:[\]]+)):(?<port>\d{1,5})$/.exec(entry);
    const host = match?.groups?.['v6'] ?? match?.groups?.['other'];
    const port = Number(match?.groups?.['port']);
    if (host === undefined || !(port >= 1 && port <= 65_535)) {
      return 'must be an address, block or host name and a port, as 10.1.2.0/24:5432 or [::1]:4010';
    }
    if (match?.groups?.['v6'] === undefined && hostName.test(host)) return { host: host.toLowerCase(), port };
    const range = parseRange(host);
    if (range === null) return 'is not an IP address, block or host name';
    if (neverAllowed.some((other) => overlap(range, other)))
      return 'touches a metadata address, which cannot be allowed';
    return { range, port };
  });

/** Written `64:ff9b::/96,198.51.100.7`. Throws `validation` naming every bad entry. */
export const parseDenyList = (text: string): readonly AddressRange[] =>
  parseList('EGRESS_DENY', text, (entry) => parseRange(entry) ?? 'is not an IP address or block');

/** The last label is not all digits, so that no spelling of an IPv4 address passes as a name. */
const hostName =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)*(?!\d+$|0x)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

const block = (text: string): AddressRange => ip.parseCIDR(text);

/** IANA has allocated only 2000::/3; 2001::/23 holds its special registries (RFC 2928). */
const globalUnicastV6 = block('2000::/3');

/** Metadata services of AWS, Google, Azure, Alibaba and Oracle, and the prefixes that wrap an IPv4 address in IPv6. */
const neverAllowed: readonly AddressRange[] = [
  '169.254.0.0/16',
  '168.63.129.16/32',
  '100.100.100.200/32',
  '192.0.0.192/32',
  'fd00:ec2::/32',
  'fd20:ce::/32',
  'fd00:c1::a9fe:a9fe/128',
  '::a9fe:0/112',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2002::/16',
].map(block);

function parseRange(text: string): AddressRange | null {
  const [host = '', bits, rest] = text.split('/');
  const address = parseAddress(host);
  if (address === null || rest !== undefined) return null;
  const widest = address instanceof ip.IPv4 ? 32 : 128;
  if (bits === undefined) return [address, widest];
  return /^\d{1,3}$/.test(bits) && Number(bits) <= widest ? [address, Number(bits)] : null;
}

const overlap = (one: AddressRange, other: AddressRange): boolean => matches(one[0], other) || matches(other[0], one);

/** `parse` returns the entry, or the text of the error. */
function parseList<Entry extends object>(
  name: string,
  text: string,
  parse: (entry: string) => Entry | string,
): Entry[] {
  const entries: Entry[] = [];
  const issues: Issue[] = [];
  for (const [index, raw] of text.split(',').entries()) {
    const written = raw.trim();
    if (written === '') continue;
    const entry = parse(written);
    if (typeof entry !== 'string') entries.push(entry);
    else issues.push(schemaIssue(`${name}.${index}`, `"${written}" ${entry}`));
  }
  if (issues.length > 0) throw invalid(`${name}: ${issues.map((issue) => issue.message).join('; ')}.`, issues);
  return entries;
}
