import { describe, expect, test } from 'vitest';
import { renderPath, renderUrl } from './url-template.ts';

const fillWith = (values: Readonly<Record<string, unknown>>) => async (expression: string) => values[expression];
const path = async (template: string, value: unknown) =>
  (await renderPath(template, new URL('https://api.test/v2/'), fillWith({ v: value }))).href;
const url = async (template: string, value: unknown) => (await renderUrl(template, fillWith({ v: value }))).href;

describe('a value in a path', () => {
  test.each([
    ['/a/{{ v }}/b', 'x y', 'https://api.test/v2/a/x%20y/b'],
    ['/a/{{ v }}', 'x/../y?z#é', 'https://api.test/v2/a/x%2F..%2Fy%3Fz%23%C3%A9'],
    ['/a/{{ v }}', '%2e%2e', 'https://api.test/v2/a/%252e%252e'],
    ['/a/{{ v }}', 7, 'https://api.test/v2/a/7'],
    ['a?b={{ v }}', 'c&d', 'https://api.test/v2/a?b=c%26d'],
    ['/r/{{{ v }}}/issues', 'owner/name', 'https://api.test/v2/r/owner/name/issues'],
    ['/r/{{{ v }}}', 'a b/c?d', 'https://api.test/v2/r/a%20b/c%3Fd'],
    ['//{{ v }}/x', 'evil.test', 'https://api.test/v2//evil.test/x'],
  ])('%s with %j is %s', async (template, value, expected) => {
    expect(await path(template, value)).toBe(expected);
  });

  test.each([
    ['/a/{{ v }}', '..'],
    ['/a/{{ v }}', '.'],
    ['/a/{{ v }}', ''],
    ['/r/{{{ v }}}', '../admin'],
    ['/r/{{{ v }}}', 'a/../../admin'],
    ['/r/.{{ v }}/x', '.'],
    ['/r/{{ v }}{{ v }}/x', '.'],
  ])('%s with %j is refused, because it leads to another path', async (template, value) => {
    await expect(path(template, value)).rejects.toMatchObject({ code: 'spec_invalid' });
  });
});

test.each(['foo://bar/x', 'data:text/plain,x', 'file:///etc', 'javascript:alert(1)'])(
  'a path below %s is refused as its scheme is',
  async (base) => {
    await expect(renderPath('/p', new URL(base), fillWith({}))).rejects.toMatchObject({ code: 'egress_blocked' });
  },
);

describe('a value in a host', () => {
  test.each([
    ['https://{{ v }}.acme.test/api', 'eu1', 'https://eu1.acme.test/api'],
    ['https://{{ v }}/api', 'shop.example.test:8443', 'https://shop.example.test:8443/api'],
    ['{{ v }}', 'https://api.test/', 'https://api.test/'],
    ['{{ v }}/v3', 'https://api.test/base/', 'https://api.test/base/v3'],
    ['https://api.test:{{ v }}/x', 8443, 'https://api.test:8443/x'],
  ])('%s with %j is %s', async (template, value, expected) => {
    expect(await url(template, value)).toBe(expected);
  });

  test.each([
    ['https://{{ v }}.acme.test/api', 'evil.test/'],
    ['https://{{ v }}.acme.test/api', 'evil.test#'],
    ['https://{{ v }}.acme.test/api', 'evil.test\\'],
    ['https://{{ v }}.acme.test/api', 'user:pw@evil.test?'],
    ['https://{{ v }}.acme.test/api', 'a.b'],
    ['https://{{ v }}.acme.test/api', ''],
    ['{{ v }}.acme.test/api', 'https://evil.test/x?'],
    ['https://{{ v }}/api', 'a@evil.test'],
    ['https://{{ v }}/api', 'evil.test/x'],
    ['{{ v }}', 'not a url'],
  ])('%s with %j is refused, because it leads to another host', async (template, value) => {
    await expect(url(template, value)).rejects.toMatchObject({ code: 'spec_invalid' });
  });
});

test.each(['http://127.0.0.1:80@other.test/', 'https://user:password@api.test', 'https://user@api.test/v2'])(
  'a URL with a user name is refused: %s',
  async (text) => {
    const refused = { code: 'egress_blocked', message: expect.stringContaining('user name') };
    await expect(url('{{ v }}', text)).rejects.toMatchObject(refused);
    await expect(url(text, '')).rejects.toMatchObject(refused);
  },
);
