import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { caseFigure } from '../../test/support/security/figure.ts';
import { isOwn, ownFolder, sha256Of } from './cached-program.mjs';

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
    const folder = join(base, 'readable');
    mkdirSync(folder);
    writeFileSync(join(folder, 'kept'), '');
    chmodSync(folder, 0o755);
    ownFolder(folder);
    expect(modeOf(folder)).toBe(0o700);
    expect(readdirSync(folder)).toEqual(['kept']);
  });

  it.each([0o777, 0o775, 0o722])('that others could write to is replaced by an empty one: %o', (mode) => {
    const folder = join(base, 'open');
    mkdirSync(join(folder, 'deep'), { recursive: true });
    writeFileSync(join(folder, 'deep', 'planted.js'), '');
    chmodSync(folder, mode);
    ownFolder(folder);
    caseFigure('plantedFiles', readdirSync(folder).length > 0);
    expect(modeOf(folder)).toBe(0o700);
    expect(readdirSync(folder)).toEqual([]);
    expect(readdirSync(base)).toEqual(['open']);
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

describe('a file of a cache', () => {
  const file = (name: string, mode = 0o644): string => {
    const path = join(base, name);
    writeFileSync(path, '');
    chmodSync(path, mode);
    return path;
  };

  it('is run when nobody else can have written it, and so are all of a folder', () => {
    expect(isOwn(file('own.js'))).toBe(true);
    expect(isOwn(base)).toBe(true);
  });

  it.each([
    ['that others may write', () => file('open.js', 0o666)],
    ['that is a link', () => (symlinkSync(file('target.js'), join(base, 'link.js')), join(base, 'link.js'))],
    ['that is not there', () => join(base, 'nothing.js')],
    ['in a folder with one that others may write', () => (file('open.js', 0o646), base)],
  ])('is not run: one %s', (_what, make) => {
    const isRun = isOwn(make());
    caseFigure('plantedFiles', isRun);
    expect(isRun).toBe(false);
  });

  it.runIf(asRoot)('of another user is not run', () => {
    const planted = file('planted.js');
    chownSync(planted, nobody, nobody);
    const isRun = [isOwn(planted), isOwn(base)];
    caseFigure('plantedFiles', isRun.includes(true));
    expect(isRun).toEqual([false, false]);
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
