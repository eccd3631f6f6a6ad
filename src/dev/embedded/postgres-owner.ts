import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Log } from '../../log.ts';

/** The user PostgreSQL runs as: it refuses root. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** For files that PostgreSQL's user must reach when root's checkout is closed to it. */
export const reachableRoot = '/var/lib/connector-sync';

/**
 * The user `postgres`, created if missing; `null` if we are not root, as PostgreSQL then runs as we do.
 * @throws Error when the user is missing and cannot be made.
 */
export function postgresOwner(log: Log): Owner | null {
  if (process.getuid?.() !== 0) return null;
  const owner = findUser('postgres');
  if (owner) return owner;
  log.info('PostgreSQL refuses to run as root: creating the system user postgres');
  for (const [program, ...args] of [
    ['useradd', '--system', '--user-group', '--no-create-home', '--shell', '/bin/false', 'postgres'],
    ['adduser', '-S', '-D', '-H', 'postgres'],
  ] as const) {
    try {
      execFileSync(program, args, { stdio: 'pipe' });
    } catch (error) {
      log.debug('this program could not create the user', { program, error });
    }
    const made = findUser('postgres');
    if (made) return made;
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and the user postgres can be neither found nor created. Run as an ordinary user, or set DATABASE_URL.',
  );
}

/**
 * `path`, or if a folder above it is closed to `owner`, one in `/var/lib/connector-sync`, always the same for the same
 * `path`.
 */
export function reachableFolder(path: string, owner: Owner | null): string {
  if (!owner || isReachable(path, owner)) return path;
  return join(reachableRoot, createHash('sha256').update(path).digest('hex').slice(0, 12));
}

export function isReachable(path: string, owner: Owner): boolean {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (existsSync(folder) && !mayPass(folder, owner)) return false;
    if (folder === dirname(folder)) return true;
  }
}

function mayPass(folder: string, { uid, gid }: Owner): boolean {
  const { mode, uid: folderUid, gid: folderGid } = statSync(folder);
  if (folderUid === uid) return (mode & 0o100) !== 0;
  if (folderGid === gid) return (mode & 0o010) !== 0;
  return (mode & 0o001) !== 0;
}

function findUser(name: string): Owner | null {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid === undefined || gid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
}
