import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchFolder } from '../../test/support/service/scratch-folder.ts';
import { embedKeyRing, oauthStateKeyRing, secretsKeyRing } from './dev-secrets.ts';

describe('secretsKeyRing', () => {
  const place = () => {
    const dataDir = scratchFolder();
    return { file: join(dataDir, 'secrets.json'), config: { dataDir, production: false, secretsKeys: null } };
  };

  it('makes a ring once, readable by the owner only', () => {
    const { file, config } = place();
    const first = secretsKeyRing(config);
    expect(first.map(({ key }) => key.length)).toEqual([32]);
    expect(secretsKeyRing(config)).toEqual(first);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('prefers the configured ring', () => {
    const ring = [{ id: 'k1', key: new Uint8Array(32) }];
    expect(secretsKeyRing({ ...place().config, secretsKeys: ring })).toBe(ring);
  });

  it('makes none in production', () => {
    expect(() => secretsKeyRing({ ...place().config, production: true })).toThrow('SECRETS_KEYS');
  });

  it('replaces no file it cannot read', () => {
    const { file, config } = place();
    writeFileSync(file, '{"SECRETS_KEYS":"dev:short"}');
    expect(() => secretsKeyRing(config)).toThrow('damaged');
  });
});

describe('a ring that signs', () => {
  const secretsKeys = [{ id: 'k1', key: new Uint8Array(32) }];
  const config = { dataDir: '', production: false, secretsKeys, oauthStateKeys: null, embedKeys: null };

  const rings = [oauthStateKeyRing, embedKeyRing];

  it('follows in development from the ring of secrets, and is another one for each purpose', () => {
    const made = rings.map((ringOf) => ringOf(config));
    expect(made).toMatchObject(rings.map(() => [{ id: 'k1', key: expect.any(Uint8Array) }]));
    expect(made).toEqual(rings.map((ringOf) => ringOf(config)));
    expect(new Set([secretsKeys, ...made].map((ring) => String(ring?.[0]?.key))).size).toBe(rings.length + 1);
  });

  it('is the configured one, and none in production without', () => {
    const ring = [{ id: 's1', key: new Uint8Array(32).fill(1) }];
    const configured = { ...config, oauthStateKeys: ring, embedKeys: ring };
    expect(rings.map((ringOf) => ringOf(configured))).toEqual([ring, ring]);
    expect(rings.map((ringOf) => ringOf({ ...config, production: true }))).toEqual([null, null]);
  });
});
