import { describe, expect, it } from 'vitest';
import { hostLabel, pathSegment, pathSegments, resolveLink } from './origin.ts';

const base = new URL('https://api.vendor.example/v1/');
const follow = (link: string, allowedHosts: readonly string[] = []) =>
  resolveLink(link, new URL('https://api.vendor.example/v1/items?page=1'), { base, allowedHosts }).href;

describe('links of a response', () => {
  it('are resolved against the page they stand on', () => {
    expect(follow('?page=2')).toBe('https://api.vendor.example/v1/items?page=2');
    expect(follow('/v2/items')).toBe('https://api.vendor.example/v2/items');
  });

  it('may lead to a listed host, and with *. to every host below it but not to itself', () => {
    expect(follow('https://files.vendor.example/a', ['files.vendor.example'])).toContain('files');
    expect(follow('https://a.b.cdn.example/a', ['*.cdn.example'])).toContain('a.b.cdn');
    expect(() => follow('https://cdn.example/a', ['*.cdn.example'])).toThrow('(link)');
    expect(() => follow('https://evilcdn.example/a', ['*.cdn.example'])).toThrow('(link)');
  });

  it('may lead to another port only where the list names it', () => {
    expect(() => follow('https://files.example:8443/a', ['files.example'])).toThrow('(link)');
    expect(follow('https://files.example:8443/a', ['files.example:8443'])).toContain('8443');
  });

  it('are refused when they are longer than a URL may be', () => {
    expect(follow(`?page=${'2'.repeat(8000)}`)).toContain('2222');
    const tooLong = expect.objectContaining({ code: 'source_rejected', message: expect.stringContaining('8192') });
    expect(() => follow(`?page=${'2'.repeat(8192)}`)).toThrow(tooLong);
  });

  it.each([
    'http://api.vendor.example/v1/items',
    'https://evil.example/',
    'https://[',
    'data:,x',
    'https://u:p@api.vendor.example/',
  ])('are refused when they lead to %s', (link) =>
    expect(() => follow(link, ['api.vendor.example'])).toThrow(expect.objectContaining({ code: 'egress_blocked' })),
  );
});

describe('path values', () => {
  it('stay one segment', () => {
    expect(pathSegment('a/b?c#d')).toBe('a%2Fb%3Fc%23d');
    expect(pathSegment('%2e%2e')).toBe('%252e%252e');
  });

  it('keep their slashes where a path is asked for', () =>
    expect(pathSegments('acme/web site')).toBe('acme/web%20site'));

  it.each(['.', '..', ''])('are never "%s"', (value) => {
    expect(() => pathSegment(value)).toThrow(expect.objectContaining({ code: 'spec_invalid' }));
    expect(() => pathSegments(`a/${value}/b`)).toThrow(expect.objectContaining({ code: 'spec_invalid' }));
  });

  it('survive a lone surrogate', () => expect(pathSegment('\uD800')).toBe('%EF%BF%BD'));
});

describe('host values', () => {
  it.each(['acme', 'a', 'ACME-eu1', 'a'.repeat(63)])('may be %s', (value) => expect(hostLabel(value)).toBe(value));

  it.each(['', '-a', 'a-', 'a.b', 'a_b', 'a/b', 'a#', 'a@b', 'a:1', 'a b', 'é', 'a\n', 'a'.repeat(64)])(
    'are never "%s"',
    (value) => expect(() => hostLabel(value)).toThrow(expect.objectContaining({ code: 'spec_invalid' })),
  );
});
