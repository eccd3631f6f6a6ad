import { describe, expect, it } from 'vitest';
import { hashApiKey, isApiKey, makeApiKey, parseApiKey } from './api-key.ts';

describe('API keys', () => {
  it('have 53 characters after which scanners can search', () => {
    expect(makeApiKey().key).toMatch(/^ck_[0-9A-Za-z]{50}$/);
  });

  it('never repeat', () => {
    const keys = new Set(Array.from({ length: 200 }, () => makeApiKey().key));
    expect(keys.size).toBe(200);
  });

  it('parse to the lookup id they were made with', () => {
    const { key, lookupId } = makeApiKey();
    expect(parseApiKey(key)).toBe(lookupId);
    expect(lookupId).toHaveLength(12);
  });

  it('are refused when any one character differs', () => {
    const { key } = makeApiKey();
    for (let index = 3; index < key.length; index += 1) {
      const other = key[index] === 'a' ? 'b' : 'a';
      expect(parseApiKey(key.slice(0, index) + other + key.slice(index + 1))).toBeNull();
    }
  });

  it.each(['', 'ck_', "ck_' or 1=1 --", `ck_${'a'.repeat(50)}`, `ck_${'a'.repeat(15_000)}`, `sk_${'0'.repeat(50)}`])(
    'are refused in another form: %.30s',
    (text) => {
      expect(parseApiKey(text)).toBeNull();
    },
  );

  it.each([' ', 'x', '\n'])('are refused with a suffix %j', (suffix) => {
    expect(parseApiKey(makeApiKey().key + suffix)).toBeNull();
  });

  it('match their own hash and no other', () => {
    const { key, hash } = makeApiKey();
    expect(isApiKey(key, hash)).toBe(true);
    expect(isApiKey(key, makeApiKey().hash)).toBe(false);
    expect(isApiKey(key, null)).toBe(false);
    expect(hashApiKey(key)).toEqual(hash);
  });

  it('show only their last four characters afterwards', () => {
    const { key, last4 } = makeApiKey();
    expect(last4).toBe(key.slice(49));
  });
});
