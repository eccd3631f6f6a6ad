import { hkdfSync, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { hasCode } from '../core/error-code.ts';
import type { Config } from './config.ts';
import { formatKeyRing, type KeyRing, parseKeyRing } from './key-ring.ts';

const DevSecrets = v.object({ SECRETS_KEYS: v.string() });

/**
 * The configured ring, else the one in `DATA_DIR/secrets.json`, made once (mode 0600). Processes that start at the same time
 * get the same ring.
 * @throws Error when the file exists but cannot be read as a ring: a new ring could not open values sealed by the old one.
 */
export function secretsKeyRing(config: Pick<Config, 'secretsKeys' | 'production' | 'dataDir'>): KeyRing {
  if (config.secretsKeys) return config.secretsKeys;
  if (config.production) throw new Error('SECRETS_KEYS must be set in production');
  const path = join(config.dataDir, 'secrets.json');
  return readRing(path) ?? createRing(path);
}

type RingConfig = Pick<Config, 'secretsKeys' | 'production' | 'dataDir'>;

/** In development, derived from the ring of secrets unless configured. */
export const oauthStateKeyRing = (config: RingConfig & Pick<Config, 'oauthStateKeys'>): KeyRing | null =>
  config.oauthStateKeys ?? derivedRing(config, 'OAUTH_STATE_KEYS');

/** In development, derived from the ring of secrets unless configured. */
export const embedKeyRing = (config: RingConfig & Pick<Config, 'embedKeys'>): KeyRing | null =>
  config.embedKeys ?? derivedRing(config, 'EMBED_KEYS');

/** Always derived from the ring of secrets, and changes with it. */
export const consoleKeyRing = (config: RingConfig): KeyRing => ringFor(config, 'CONSOLE_SESSIONS');

/** `null` in production, where signing rings must be configured. */
const derivedRing = (config: RingConfig, purpose: string): KeyRing | null =>
  config.production ? null : ringFor(config, purpose);

function ringFor(config: RingConfig, purpose: string): KeyRing {
  return secretsKeyRing(config).map(({ id, key }) => ({
    id,
    key: new Uint8Array(hkdfSync('sha256', key, '', purpose, 32)),
  }));
}

function readRing(path: string): KeyRing | null {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
  const { success, output } = v.safeParse(v.pipe(v.string(), v.parseJson(), DevSecrets), content);
  const ring = success ? parseKeyRing(output.SECRETS_KEYS) : null;
  if (!ring) throw new Error(`${path} is damaged: restore it, or delete it together with the data it encrypts`);
  return ring;
}

/** Linking is atomic and fails when another process was first; its ring then counts. */
function createRing(path: string): KeyRing {
  const ring = [{ id: 'dev', key: new Uint8Array(randomBytes(32)) }];
  mkdirSync(join(path, '..'), { recursive: true });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify({ SECRETS_KEYS: formatKeyRing(ring) }, null, 2)}\n`, { mode: 0o600 });
  try {
    linkSync(draft, path);
    return ring;
  } catch (error) {
    const winner = hasCode(error, 'EEXIST') ? readRing(path) : null;
    if (!winner) throw error;
    return winner;
  } finally {
    rmSync(draft, { force: true });
  }
}
