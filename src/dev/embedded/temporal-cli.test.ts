import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLog } from '../../log.ts';
import { findTemporalCli } from './temporal-cli.ts';

const outOfReach = () => Promise.reject(new Error('out of reach'));
/** What is fetched is not what these tests are about. */
const downloads = { archive: outOfReach, wheel: outOfReach };

let base = '';
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'connector-sync-cli-'));
  // None on PATH.
  vi.stubEnv('PATH', base);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(base, { recursive: true, force: true });
});

it('an altered Temporal CLI in the cache is never run, and the log reports it', async () => {
  const cacheDir = join(base, 'cache');
  const path = join(cacheDir, 'temporal', '1.9.1', `${process.platform}-${process.arch}`, 'temporal');
  const ran = join(base, 'ran');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n: > ${ran}\necho temporal version 1.9.1\n`, { mode: 0o755 });
  const lines: string[] = [];
  const log = createLog({ level: 'warn', name: 'test', destination: { write: (line) => void lines.push(line) } });
  await expect(findTemporalCli({ temporalCli: null, cacheDirs: [cacheDir], log }, downloads)).rejects.toThrow(
    /has SHA-256 .* expected/,
  );
  expect(existsSync(ran)).toBe(false);
  expect(lines.join()).toContain('was altered after its download');
});
