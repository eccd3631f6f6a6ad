import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../work/effort-fixture.ts';
import { createRedactor } from './redact.ts';

const secret = 'p"ä/s+s&w=ö\\rd ~1\'!';
const inner = JSON.stringify(secret).slice(1, -1);
const escaped = (chars: RegExp) =>
  inner.replace(chars, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
const base64 = (before: string, encoding: 'base64' | 'base64url') =>
  Buffer.from(`${before}${secret}:more`).toString(encoding);

/** The secret as sources were seen to echo it. */
const echoes: Readonly<Record<string, string>> = {
  raw: secret,
  percent: encodeURIComponent(secret),
  'percent, lower case': encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
  form: new URLSearchParams({ a: secret }).toString().slice(2),
  'percent twice': encodeURIComponent(encodeURIComponent(secret)),
  'form, in the query of a link': encodeURIComponent(new URLSearchParams({ a: secret }).toString().slice(2)),
  'JSON-escaped': inner,
  'JSON-escaped with \\/': inner.replaceAll('/', '\\/'),
  'JSON-escaped twice': JSON.stringify(inner).slice(1, -1),
  'JSON-escaped as .NET does': inner.replace(
    /[+&']|[^ -~]/g,
    (char) => `\\u00${char.charCodeAt(0).toString(16).toUpperCase()}`,
  ),
  'JSON-escaped as Gson does': escaped(/[&<>=']/g),
  'JSON-escaped as Python does': escaped(/[^ -~]/g),
  HTML: secret.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#x27;'),
  XML: secret.replaceAll('&', '&amp;'),
  'upper case': secret.toUpperCase(),
  'lower case': secret.toLowerCase(),
  hex: Buffer.from(secret).toString('hex'),
  'hex, upper case': Buffer.from(secret).toString('hex').toUpperCase(),
};

describe('secrets by value', () => {
  const redactor = createRedactor([secret]);

  it.each(Object.entries(echoes))('are masked when written in %s', (_name, echo) => {
    expect(redactor.text(`before ${echo} after`)).toBe('before [redacted] after');
  });

  it.each(['', 'u', 'us', 'user:', 'ab'])('are masked in base64 after "%s", in both alphabets', (before) => {
    for (const encoding of ['base64', 'base64url'] as const) {
      const shown = redactor.text(base64(before, encoding)).split('[redacted]');
      expect(shown).toHaveLength(2);
      // What is left decodes to the surroundings and at most the bits of the character on each edge.
      expect(Buffer.from(shown[0] ?? '', encoding).length).toBeLessThanOrEqual(before.length + 1);
    }
  });

  it('are masked everywhere, also where two overlap', () => {
    const both = createRedactor(['abcdef', 'defghi']);
    expect(both.text('abcdefghi abcdef defghi')).toBe('[redacted] [redacted] [redacted]');
  });

  it('of any length and of any characters are masked, also a part of 64 characters', () => {
    const long = `${'s3cret*(['.repeat(2000)}\\`;
    const ofLong = createRedactor([long]);
    expect(ofLong.text(`before ${long} after`)).toBe('before [redacted] after');
    expect(ofLong.text(`before ${long.slice(0, 64)} after`)).toBe('before [redacted] after');
  });

  it('of which a text has some leave less than 64 characters of it', () => {
    const long = Array.from({ length: 400 }, (_, nth) => `part-${nth}-`).join('');
    const shown = createRedactor([long]).text(long.slice(0, 2000));
    expect(shown).toMatch(/^\[redacted\].{0,63}$/);
  });

  it('of fewer than 6 characters are left, as they would mask ordinary text', () => {
    expect(createRedactor(['abc']).text('abcabc')).toBe('abcabc');
  });

  it('that come up later are masked from then on', () => {
    const later = createRedactor([]);
    later.add('refreshed-1');
    expect(later.text('the refreshed-1 value')).toBe('the [redacted] value');
  });

  it('that come up later are dropped for later ones, those of the start never', () => {
    const limited = createRedactor(['from-the-start']);
    for (let nth = 1; nth <= 16; nth += 1) limited.add(`signature-${nth}-of-many`);
    limited.add('signature-1-of-many');
    limited.add('signature-17-of-many');
    const text = 'from-the-start signature-1-of-many signature-2-of-many signature-17-of-many';
    expect(limited.values(text)).toBe('[redacted] [redacted] signature-2-of-many [redacted]');
  });

  it('that a run is given while it lasts, to keep, are never dropped for later ones', () => {
    const ofRun = createRedactor([]);
    ofRun.keep(Array.from({ length: 20 }, (_, nth) => `secret-${nth}-of-the-run`));
    ofRun.keep(['secret-of-a-parent']);
    for (let nth = 1; nth <= 17; nth += 1) ofRun.add(`signature-${nth}-of-many`);
    const text = 'secret-0-of-the-run secret-19-of-the-run secret-of-a-parent';
    expect(ofRun.values(text)).toBe('[redacted] [redacted] [redacted]');
  });

  it('may hold characters that mean something in a pattern', () => {
    expect(createRedactor(['a.*(b)[c']).text('a.*(b)[c axxb')).toBe('[redacted] axxb');
  });
});

describe('a cut', () => {
  const redactor = createRedactor(['0123456789abcdef']);

  it.each(Array.from({ length: 20 }, (_, at) => at + 1))(
    'leaves no part of a secret that starts %i before it',
    (before) => {
      const text = `${'x'.repeat(100 - before)}0123456789abcdef${'y'.repeat(100)}`;
      expect(redactor.text(text, 100)).toMatch(/^x+\[redacted\]y*$/);
    },
  );

  it('does not move with the masks before it', () => {
    const text = `0123456789abcdef${'x'.repeat(4)}${'y'.repeat(60)}0123456789abcdef`;
    expect(redactor.text(text, 20)).toBe('[redacted]xxxx');
  });
});

describe('secrets by name', () => {
  const redactor = createRedactor([]);

  it.each([
    ['{"apiKey":"v","name":"n"}', '{"apiKey":"[redacted]","name":"n"}'],
    ['{"access_token" : "a\\"b", "n": 1}', '{"access_token" : "[redacted]", "n": 1}'],
    ['{"pin_code":1234,"n":1}', '{"pin_code":[redacted],"n":1}'],
    ['{"credentials":{"a":["x","}"]},"n":1}', '{"credentials":[redacted],"n":1}'],
    ['{"sessions":[{"a":1},{"b":2}],"n":1}', '{"sessions":[redacted],"n":1}'],
    ['{"next_token":null,"has_key":true}', '{"next_token":null,"has_key":true}'],
    ['{"TOKEN":True}', '{"TOKEN":[redacted]}'],
    ['{"password":"cut off', '{"password":"[redacted]'],
    ['{"next":"https://a.example/?token=v&page=2"}', '{"next":"https://a.example/?token=[redacted]&page=2"}'],
    ['client_secret=v&grant_type=x&code=w', 'client_secret=[redacted]&grant_type=x&code=[redacted]'],
    ['{"name":"n","city":"c"}', '{"name":"n","city":"c"}'],
  ])('are masked in %s', (text, masked) => expect(redactor.text(text)).toBe(masked));

  it('are masked in the query of a URL, whose fragment is left off', () => {
    const url = new URL('https://a.example/p?api_key=v&limit=5&Signature=w#frag');
    expect(redactor.url(url)).toBe('https://a.example/p?api_key=[redacted]&limit=5&Signature=[redacted]');
  });

  it('are masked in all request headers but a few harmless ones', () => {
    const headers = {
      authorization: 'Bearer v',
      'x-anything': 'v',
      accept: 'a/b',
      'idempotency-key': 'v',
      'user-agent': 'u',
    };
    expect(redactor.requestHeaders(headers)).toEqual({
      authorization: '[redacted]',
      'x-anything': '[redacted]',
      accept: 'a/b',
      'idempotency-key': '[redacted]',
      'user-agent': 'u',
    });
  });

  it('are masked in response headers, and cookies are dropped', () => {
    const headers = {
      'set-cookie': 'a=b',
      'x-auth-token': 'v',
      link: '<https://a.example/?sig=v>; rel="next"',
      date: 'd',
    };
    expect(redactor.responseHeaders(headers)).toEqual({
      'x-auth-token': '[redacted]',
      link: '<https://a.example/?sig=[redacted]>; rel="next"',
      date: 'd',
    });
  });

  it.each(['"', '"key', '?key', '&', '{', '"key":{', '"key":"\\'])(
    'cost time in proportion to the text: %s',
    (unit) => {
      const text = unit.repeat(20_000);
      const cpuMs = cpuMsOf(() => {
        redactor.text(text, 8_192);
      });
      expect(cpuMs).toBeLessThan(500);
    },
  );
});
