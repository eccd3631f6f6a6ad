import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchFolder } from '../../../test/support/service/scratch-folder.ts';
import { copied } from './postgres-binaries.ts';

/** A package of programs as npm leaves it under an open umask. */
function programs(): string {
  const folder = scratchFolder();
  mkdirSync(join(folder, 'native', 'lib'), { recursive: true });
  writeFileSync(join(folder, 'native', 'postgres'), 'the program');
  writeFileSync(join(folder, 'native', 'lib', 'libpq.so.5.18'), '');
  chmodSync(join(folder, 'native', 'postgres'), 0o775);
  const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }];
  writeFileSync(join(folder, 'native', 'pg-symlinks.json'), JSON.stringify(links));
  return folder;
}

const programIn = (folder: string) => readFileSync(join(folder, 'native', 'postgres'), 'utf8');

describe('a copy of the programs of PostgreSQL', () => {
  it('is made once, with its links, and cannot be written to by others', () => {
    const to = join(scratchFolder(), 'postgres-18');
    expect(copied(programs(), to)).toBe(to);
    expect(programIn(to)).toBe('the program');
    expect(statSync(join(to, 'native', 'postgres')).mode & 0o777).toBe(0o755);
    expect(readlinkSync(join(to, 'native', 'lib', 'libpq.so.5'))).toBe('libpq.so.5.18');
    writeFileSync(join(to, 'kept'), '');
    copied(programs(), to);
    expect(existsSync(join(to, 'kept'))).toBe(true);
  });

  it.each([
    ['others could write to it', (to: string) => chmodSync(to, 0o777)],
    ['others could write to a program', (to: string) => chmodSync(join(to, 'native', 'postgres'), 0o777)],
    ['a program is a link to elsewhere', (to: string) => symlinkSync('/bin/sh', join(to, 'native', 'planted'))],
  ])('is made anew when %s', (_why, open) => {
    const parent = scratchFolder();
    const to = join(parent, 'postgres-18');
    mkdirSync(join(to, 'native'), { recursive: true });
    writeFileSync(join(to, 'native', 'postgres'), 'planted');
    open(to);
    copied(programs(), to);
    expect(programIn(to)).toBe('the program');
    expect(readdirSync(parent)).toEqual(['postgres-18']);
  });
});
