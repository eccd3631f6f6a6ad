import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ownFolder, sha256Of } from './cached-program.mjs';

const asRoot = process.getuid?.() === 0;
/** The user `nobody` of every Unix. */
const nobody = 65_534;

let base = '';
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'connector-sync-cache-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('a folder of a cache', () => {
  it('is made for us alone', () => {
    ownFolder(join(base, 'a', 'b'));
    expect(modeOf(join(base, 'a', 'b'))).toBe(0o700);
  });

  it('that is ours is closed to others', () => {
    const folder = join(base, 'open');
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    ownFolder(folder);
    expect(modeOf(folder)).toBe(0o700);
  });

  // Only root can give a folder to another user.
  it.runIf(asRoot)('of another user is refused, and left as it is', () => {
    const folder = join(base, 'foreign');
    mkdirSync(folder, { mode: 0o755 });
    chownSync(folder, nobody, nobody);
    expect(() => ownFolder(folder)).toThrow(`it belongs to user ${nobody}`);
    expect(modeOf(folder)).toBe(0o755);
  });
});

describe('a digest', () => {
  it('is of all of the file, however long', () => {
    const path = join(base, 'program');
    writeFileSync(path, 'x'.repeat(2_500_000));
    expect(sha256Of(path)).toBe('b28d028158597a0e9d58d8ece40e918253ad02ea5de85af96eccd4a00a848f93');
  });

  it('is null without a file', () => {
    expect(sha256Of(join(base, 'nothing'))).toBeNull();
  });
});
