import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { specChecksum } from './checksum.ts';

describe('specChecksum', () => {
  it('does not depend on the order of keys', () => {
    expect(specChecksum({ a: 1, b: [{ c: 2, d: 3 }] })).toBe(specChecksum({ b: [{ d: 3, c: 2 }], a: 1 }));
    expect(specChecksum({ a: 1 })).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(specChecksum({ a: 1 })).not.toBe(specChecksum({ a: 2 }));
  });

  it('is the digest of the RFC 8785 form, which sorts numbers in names as text', () => {
    const text = '{"10":1,"9":2,"a":{"2":[],"\u00e9":null}}';
    const digest = createHash('sha256').update(text).digest('hex');
    expect(specChecksum({ a: { é: null, 2: [] }, 9: 2, 10: 1 })).toBe(`sha256:${digest}`);
  });
});
