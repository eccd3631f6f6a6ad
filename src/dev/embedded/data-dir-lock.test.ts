import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchFolder } from '../../../test/support/service/scratch-folder.ts';
import { DataDirInUseError, lockDataDir } from './data-dir-lock.ts';
import { identify } from './process-table.ts';

describe('lockDataDir', () => {
  it('refuses a second supervisor, naming pid and URL of the first', () => {
    const dataDir = scratchFolder();
    const lock = lockDataDir(dataDir, 'http://localhost:3100');
    expect(() => lockDataDir(dataDir, 'http://localhost:9')).toThrow(DataDirInUseError);
    expect(() => lockDataDir(dataDir, 'http://localhost:9')).toThrow(
      new RegExp(`${process.pid}.*http://localhost:3100`),
    );
    lock.release();
  });

  it('gives the folder free on release', () => {
    const dataDir = scratchFolder();
    lockDataDir(dataDir, 'a').release();
    expect(existsSync(join(dataDir, 'supervisor.lock'))).toBe(false);
    lockDataDir(dataDir, 'b').release();
  });

  it.each([
    ['whose process has ended', { pid: 2 ** 22 + 1, start: '1', url: 'x' }],
    ['whose pid is another process by now', { pid: process.pid, start: '1', url: 'x' }],
  ])('takes over a lock %s', (_, holder) => {
    const dataDir = scratchFolder();
    writeFileSync(join(dataDir, 'supervisor.lock'), JSON.stringify(holder));
    lockDataDir(dataDir, 'new');
    const { pid, start } = JSON.parse(readFileSync(join(dataDir, 'supervisor.lock'), 'utf8'));
    expect({ pid, start }).toEqual(identify(process.pid));
  });

  it('takes over a lock that was cut off by a crash', () => {
    const dataDir = scratchFolder();
    writeFileSync(join(dataDir, 'supervisor.lock'), '{"pid":');
    expect(() => lockDataDir(dataDir, 'new')).not.toThrow();
  });
});
