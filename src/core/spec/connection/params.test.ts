import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../work/effort-fixture.ts';
import { ConnectionParam } from '../schema/param-schema.ts';
import { checkConnectionValues } from './params.ts';

const spec = (...params: readonly unknown[]) => ({ connectionParams: v.parse(v.array(ConnectionParam), params) });
const one = (param: Record<string, unknown>, value: unknown, hostIssue?: (url: URL) => string | null) =>
  checkConnectionValues(
    spec({ key: 'x', ...param }),
    { params: { x: value }, secrets: {} },
    hostIssue ? { hostIssue } : {},
  );

describe('checkConnectionValues', () => {
  it.each([
    [{ type: 'string' }, 'a'],
    [{ type: 'string', enum: ['eu', 'us'] }, 'us'],
    [{ type: 'string', pattern: '^acct_\\w+$', minLength: 6, maxLength: 8 }, 'acct_1'],
    [{ type: 'string', format: 'date' }, '2024-02-29'],
    [{ type: 'string', format: 'date-time' }, '2024-02-29T12:00:00.5+02:00'],
    [{ type: 'string', format: 'email' }, 'a.b@c.test'],
    [{ type: 'string', format: 'uuid' }, '0190a8f0-5f2b-7c3d-8e4f-123456789abc'],
    [{ type: 'string', format: 'hostname' }, 'db.acme.test'],
    [{ type: 'string', format: 'subdomain' }, 'acme-eu'],
    [{ type: 'integer', min: 1, max: 5 }, 5],
    [{ type: 'number' }, 0.5],
    [{ type: 'boolean' }, false],
    [{ type: 'url' }, 'https://api.acme.test/v1'],
    [{ type: 'string_list', pattern: '^[\\w.-]+/[\\w.-]+$' }, ['a/b', 'c/d']],
    [{ type: 'json' }, { deep: [null] }],
  ])('accepts for %j the value %j', (param, value) => {
    expect(one(param, value)).toEqual({ ok: true, params: { x: value }, secrets: {} });
  });

  it.each([
    [{ type: 'string' }, 5],
    [{ type: 'string' }, null],
    [{ type: 'string', enum: ['eu', 'us'] }, 'EU'],
    [{ type: 'string', pattern: '^a$' }, 'ab'],
    [{ type: 'string', minLength: 2 }, 'a'],
    [{ type: 'string', maxLength: 2 }, 'abc'],
    [{ type: 'string', format: 'date' }, '2024-02-30'],
    [{ type: 'string', format: 'date-time' }, '2024-02-28'],
    [{ type: 'string', format: 'date-time' }, '2024-02-30T00:00:00Z'],
    [{ type: 'string', format: 'email' }, 'a@b@c.test'],
    [{ type: 'string', format: 'uuid' }, 'x'],
    [{ type: 'string', format: 'hostname' }, 'a..b'],
    [{ type: 'string', format: 'subdomain' }, 'evil.test/'],
    [{ type: 'string', format: 'subdomain' }, 'a.b'],
    [{ type: 'integer' }, 1.5],
    [{ type: 'integer' }, '1'],
    [{ type: 'integer', min: 1 }, 0],
    [{ type: 'number', max: 1 }, 2],
    [{ type: 'number' }, Number.NaN],
    [{ type: 'boolean' }, 'true'],
    [{ type: 'url' }, 'ftp://a.test'],
    [{ type: 'url' }, 'https://user:pw@a.test'],
    [{ type: 'url' }, 'https:a.test'],
    [{ type: 'url' }, ' https://a.test'],
    [{ type: 'string_list' }, 'a'],
    [{ type: 'string_list' }, ['a', 1]],
    [{ type: 'string_list', pattern: '^a$' }, ['a', 'b']],
  ])('refuses for %j the value %j', (param, value) => {
    expect(one(param, value)).toMatchObject({ ok: false, issues: [{ code: 'schema', path: 'params.x' }] });
  });

  it('fills in defaults, and leaves out what is optional and absent', () => {
    const params = spec(
      { key: 'region', type: 'string', default: 'eu' },
      { key: 'note', type: 'string', required: false },
      { key: 'token', type: 'string', secret: true },
    );
    expect(checkConnectionValues(params, { params: {}, secrets: { token: 't' } })).toEqual({
      ok: true,
      params: { region: 'eu' },
      secrets: { token: 't' },
    });
  });

  it('reports what is missing, unknown, or on the wrong side, all at once', () => {
    const params = spec(
      { key: 'a', type: 'string' },
      { key: 'b', type: 'string' },
      { key: 'c', type: 'string', secret: true },
      { key: 'd', type: 'string', secret: true },
    );
    const result = checkConnectionValues(params, { params: { c: 's3cret', z: 1 }, secrets: { b: 'x' } });
    expect(result).toMatchObject({ ok: false });
    if (result.ok) return;
    expect(result.issues.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'schema params.a',
      'schema secrets.d',
      'schema params.c',
      'schema params.z',
      'schema secrets.b',
    ]);
    expect(JSON.stringify(result.issues)).not.toContain('s3cret');
  });

  it.each([null, [], 'x', undefined])('refuses %j in place of the params', (params) => {
    expect(checkConnectionValues(spec(), { params, secrets: {} })).toMatchObject({ issues: [{ path: 'params' }] });
  });

  it('does not take a value from the prototype', () => {
    expect(checkConnectionValues(spec({ key: 'toString', type: 'json' }), { params: {}, secrets: {} })).toMatchObject({
      ok: false,
    });
  });

  it('takes secrets of up to 16,384 characters and no longer ones, without repeating them', () => {
    const declared = spec({ key: 'token', type: 'string', secret: true });
    const check = (token: string) => checkConnectionValues(declared, { params: {}, secrets: { token } });
    expect(check('x'.repeat(16_384))).toMatchObject({ ok: true });
    const refused = check('x'.repeat(16_385));
    const issue = { path: 'secrets.token', message: expect.stringContaining('16384') };
    expect(refused).toMatchObject({ ok: false, issues: [issue] });
    expect(JSON.stringify(refused)).not.toContain('xxxxxx');
  });

  it('takes secrets of 65,536 characters in all and no more', () => {
    const keys = Array.from({ length: 5 }, (_, nth) => `token_${nth}`);
    const declared = spec(...keys.map((key) => ({ key, type: 'string' as const, secret: true })));
    const check = (length: number) =>
      checkConnectionValues(declared, {
        params: {},
        secrets: Object.fromEntries(keys.map((key) => [key, 'x'.repeat(length)])),
      });
    expect(check(13_000)).toMatchObject({ ok: true });
    const issue = { path: 'secrets', message: 'expected secrets of at most 65536 characters in all' };
    expect(check(13_200)).toMatchObject({ ok: false, issues: [issue] });
  });

  it('asks the guard about the host of a url', () => {
    const vet = (url: URL) => (url.hostname === 'metadata' ? 'this host may not be called' : null);
    expect(one({ type: 'url' }, 'http://metadata/x', vet)).toMatchObject({
      issues: [{ path: 'params.x', message: 'this host may not be called' }],
    });
    expect(one({ type: 'url' }, 'http://other/x', vet)).toMatchObject({ ok: true });
  });

  it('stops a pattern that backtracks without end', () => {
    const cpuMs = cpuMsOf(() => {
      expect(one({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(60)}!`)).toMatchObject({ ok: false });
    });
    expect(cpuMs).toBeLessThan(1000);
  });

  it('tries a pattern on at most 4,096 characters', () => {
    expect(one({ type: 'string', pattern: 'a' }, 'a'.repeat(4096))).toMatchObject({ ok: true });
    expect(one({ type: 'string', pattern: 'a' }, 'a'.repeat(4097))).toMatchObject({ ok: false });
  });
});
