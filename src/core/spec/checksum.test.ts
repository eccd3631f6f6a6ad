import { describe, expect, it } from 'vitest';
import { canonicalJson, specChecksum } from './checksum.ts';

describe('canonicalJson', () => {
  it('gives the example of RFC 8785 section 3.2.3', () => {
    const value = {
      numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"\u002f',
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('sorts keys by UTF-16 code units', () => {
    const keys = ['\u20ac', '\r', '\ufb33', '1', '\ud83d\ude00', '\u0080', '\u00f6'];
    const text = canonicalJson(Object.fromEntries(keys.map((key) => [key, 0])));
    expect(Object.keys(JSON.parse(text.replaceAll('"1"', '"one"')))).toEqual([
      '\r',
      'one',
      '\u0080',
      '\u00f6',
      '\u20ac',
      '\ud83d\ude00',
      '\ufb33',
    ]);
  });

  it('writes -0 as 0 and leaves out undefined', () => {
    expect(canonicalJson({ a: -0, b: undefined })).toBe('{"a":0}');
  });

  it.each([Number.NaN, Infinity, 1n, () => 1, [undefined]])('refuses what is not JSON', (value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
  });
});

describe('specChecksum', () => {
  it('does not depend on the order of keys', () => {
    expect(specChecksum({ a: 1, b: [{ c: 2, d: 3 }] })).toBe(specChecksum({ b: [{ d: 3, c: 2 }], a: 1 }));
    expect(specChecksum({ a: 1 })).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(specChecksum({ a: 1 })).not.toBe(specChecksum({ a: 2 }));
  });
});
