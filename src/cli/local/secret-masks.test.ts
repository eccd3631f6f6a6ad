import { describe, expect, it } from 'vitest';
import { specOf } from '../../core/spec-tests/spec-tests-fixture.ts';
import { createSecretMask, maskDeep, placeholdersOf } from './secret-masks.ts';

describe('the secrets of a recorded test', () => {
  it('are made up, as the rules of their params allow', () => {
    const spec = specOf(
      {},
      {},
      {
        connectionParams: [
          { key: 'token', type: 'string', secret: true },
          { key: 'base_url', type: 'url', secret: true },
          { key: 'code', type: 'string', secret: true, pattern: '^[0-9]+$' },
          { key: 'other', type: 'string', secret: true },
        ],
        tests: [],
      },
    );
    expect(placeholdersOf(spec, { token: 'a', base_url: 'https://x.test', code: '12345' })).toEqual({
      token: 'test-token',
      base_url: 'https://base-url.test',
    });
  });

  it('are replaced at every depth: in texts, names and numbers', () => {
    const mask = (text: string) => text.replaceAll('987654', '[x]');
    expect(maskDeep({ a: [987654, 'k=987654', null, true], 987654: 1 }, mask)).toEqual({
      a: ['[x]', 'k=[x]', null, true],
      '[x]': 1,
    });
  });

  it('are replaced in every spelling, and so is a token that came up; a short one where it is a whole text', () => {
    const secrets = { token: 'hunter2-and-more', inner: 'hunter2', pin: '12', code: '98765' };
    const mask = createSecretMask(secrets, { token: 'test-token', inner: 'test-inner' }, ['session-4711', 'abc']);
    expect(mask('hunter2-and-more hunter2')).toBe('test-token test-inner');
    expect(mask(Buffer.from('me:hunter2-and-more').toString('base64'))).not.toBe(
      Buffer.from('me:hunter2-and-more').toString('base64'),
    );
    expect(mask('x session-4711 y')).toBe('x [redacted] y');
    expect(mask('code 98765')).toBe('code [redacted]');
    expect([mask('12'), mask('abc'), mask('1234 abcd')]).toEqual(['[redacted]', '[redacted]', '1234 abcd']);
  });
});
