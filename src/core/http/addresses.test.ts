import { describe, expect, it } from 'vitest';
import { isPublicAddress, matches, parseAddress, parseAllowList, parseDenyList } from './addresses.ts';

const isPublic = (text: string): boolean => {
  const address = parseAddress(text);
  return address !== null && isPublicAddress(address);
};

describe('public addresses', () => {
  it.each(['8.8.8.8', '1.0.0.0', '172.32.0.0', '223.255.255.255', '2001:4860:4860::8888', '2003::1', '2a00:1450::1'])(
    'include %s',
    (text) => expect(isPublic(text)).toBe(true),
  );

  it.each([
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '192.0.0.192',
    '192.88.99.1',
    '192.168.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::8.8.8.8',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '2001::1',
    '2001:db8::1',
    '2002:808:808::1',
    '3fff::1',
    '4000::1',
    'fc00::1',
    'fe80::1',
    'ff0e::1',
  ])('do not include %s', (text) => expect(isPublic(text)).toBe(false));

  it.each(['127.1', '0x7f.0.0.1', '2130706433', '::1%lo', '2001:db8::1%eth0', 'localhost', '', '[::1]'])(
    'are never read from the spelling "%s"',
    (text) => expect(parseAddress(text)).toBeNull(),
  );
});

describe('the allow list', () => {
  it('opens addresses, blocks, bracketed IPv6 and names, each at one port', () => {
    const entries = parseAllowList(' 127.0.0.1:4010, [::1]:4010,10.1.2.0/24:5432,Localhost:8080,');

    expect(entries.map((entry) => entry.port)).toEqual([4010, 4010, 5432, 8080]);
    expect(entries[3]).toEqual({ host: 'localhost', port: 8080 });
    const opens = (text: string) =>
      entries.map((entry) => 'range' in entry && matches(parseAddress(text) ?? never(), entry.range));
    expect(opens('127.0.0.1')).toEqual([true, false, false, false]);
    expect(opens('::1')).toEqual([false, true, false, false]);
    expect(opens('10.1.2.200')).toEqual([false, false, true, false]);
    expect(opens('10.1.3.1')).toEqual([false, false, false, false]);
  });

  it('is empty for empty text', () => expect(parseAllowList('')).toEqual([]));

  it.each([
    '169.254.169.254:80',
    '169.254.0.0/16:80',
    '0.0.0.0/0:80',
    '168.63.129.16:80',
    '100.100.100.200:80',
    '192.0.0.192:80',
    '[fd00:ec2::254]:80',
    '[fd20:ce::254]:80',
    '[fd00::/8]:80',
    '[::ffff:169.254.169.254]:80',
    '[64:ff9b::a9fe:a9fe]:80',
    '[::/0]:80',
  ])('cannot open metadata addresses with %s', (text) => {
    expect(() => parseAllowList(text)).toThrow('touches a metadata address');
  });

  it('names every bad entry', () => {
    const text = '127.0.0.1,::1:4010,127.1:80,10.0.0.0/33:80,127.0.0.1:0,127.0.0.1:65536,ok.example:80';
    expect(() => parseAllowList(text)).toThrow(
      expect.objectContaining({
        code: 'validation',
        issues: [0, 1, 2, 3, 4, 5].map((index) => expect.objectContaining({ path: `EGRESS_ALLOW.${index}` })),
      }),
    );
  });
});

describe('the deny list', () => {
  it('takes addresses and blocks of both families without a port', () => {
    expect(parseDenyList('198.51.100.7,2001:67c:2b0::/96').map(([, bits]) => bits)).toEqual([32, 96]);
  });

  it('refuses names and ports', () => {
    expect(() => parseDenyList('internal.example,10.0.0.1:80')).toThrow(/internal\.example.*10\.0\.0\.1:80/);
  });
});

const never = (): never => {
  throw new Error('not an address');
};
