import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { oauthStateKeyRing, secretsKeyRing } from './dev-secrets.ts';

describe('secretsKeyRing', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'connector-sync-test-'));
  const file = join(dataDir, 'secrets.json');
  const config = { dataDir, production: false, secretsKeys: null };
  afterEach(() => rmSync(file, { force: true }));

  it('makes a ring once, readable by the owner only', () => {
    const first = secretsKeyRing(config);
    expect(first.map(({ key }) => key.length)).toEqual([32]);
    expect(secretsKeyRing(config)).toEqual(first);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('prefers the configured ring', () => {
    const ring = [{ id: 'k1', key: new Uint8Array(32) }];
    expect(secretsKeyRing({ ...config, secretsKeys: ring })).toBe(ring);
  });

  it('makes none in production', () => {
    expect(() => secretsKeyRing({ ...config, production: true })).toThrow('SECRETS_KEYS');
  });

  it('replaces no file it cannot read', () => {
    writeFileSync(file, '{"SECRETS_KEYS":"dev:short"}');
    expect(() => secretsKeyRing(config)).toThrow('damaged');
  });
});

describe('oauthStateKeyRing', () => {
  const secretsKeys = [{ id: 'k1', key: new Uint8Array(32) }];
  const config = { dataDir: '', production: false, secretsKeys, oauthStateKeys: null };

  it('follows in development from the ring of secrets, and is another one', () => {
    const ring = oauthStateKeyRing(config);
    expect(ring).toMatchObject([{ id: 'k1', key: expect.any(Uint8Array) }]);
    expect(ring).toEqual(oauthStateKeyRing(config));
    expect(ring).not.toEqual(secretsKeys);
  });

  it('is the configured one, and none in production without', () => {
    const oauthStateKeys = [{ id: 's1', key: new Uint8Array(32).fill(1) }];
    expect(oauthStateKeyRing({ ...config, oauthStateKeys })).toBe(oauthStateKeys);
    expect(oauthStateKeyRing({ ...config, production: true })).toBeNull();
  });
});
