import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { hasCode } from '../../core/error-code.ts';
import type { Owner } from './postgres-owner.ts';
import { commandLine, identify, stopProcess } from './process-table.ts';

export const postgresUser = 'connector_sync';

/** Fast shutdown: open transactions are rolled back, the data is left clean. */
export const postgresStop = { signal: 'SIGINT', timeoutMs: 10_000 } as const;

export interface Cluster {
  readonly dataFolder: string;
  readonly owner: Owner | null;
  readonly password: string;
}

/**
 * Also stops a leftover server on the folder. The password is made once and kept in `passwordFile` (mode 0600).
 * @throws Error when the data exists but its password does not.
 */
export async function prepareCluster(
  { dataFolder, owner }: Omit<Cluster, 'password'>,
  passwordFile: string,
  initdb: string,
): Promise<Cluster> {
  const isNew = !existsSync(join(dataFolder, 'PG_VERSION'));
  const password = readPassword(passwordFile) ?? (isNew ? createPassword(passwordFile) : null);
  if (password === null) {
    throw new Error(
      `${passwordFile} is missing, and ${dataFolder} cannot be opened without it: restore it, or delete that folder`,
    );
  }
  if (isNew) await initialize({ dataFolder, owner, password }, initdb);
  else await stopLeftover(dataFolder);
  return { dataFolder, owner, password };
}

/** According to its pid file. */
export function runningServer(dataFolder: string): ReturnType<typeof identify> {
  const note = join(dataFolder, 'postmaster.pid');
  if (!existsSync(note)) return null;
  const pid = Number(readFileSync(note, 'utf8').split('\n')[0]);
  // The file survives a crash, and its pid may now be another program's.
  return commandLine(pid)?.includes(dataFolder) === true ? identify(pid) : null;
}

export function lastPort(dataFolder: string): number | null {
  const note = join(dataFolder, 'postmaster.opts');
  const port = existsSync(note) ? /"-p" "(\d+)"/.exec(readFileSync(note, 'utf8'))?.[1] : undefined;
  return port === undefined ? null : Number(port);
}

async function stopLeftover(dataFolder: string): Promise<void> {
  const server = runningServer(dataFolder);
  if (server) await stopProcess(server, postgresStop);
}

function readPassword(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

function createPassword(path: string): string {
  const password = randomBytes(24).toString('base64url');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${password}\n`, { mode: 0o600 });
  return password;
}

/** Moved in, so that a killed start leaves no half-made folder under the final name. */
async function initialize({ dataFolder, owner, password }: Cluster, initdb: string): Promise<void> {
  const parent = dirname(dataFolder);
  mkdirSync(parent, { recursive: true, mode: 0o755 });
  rmSync(dataFolder, { recursive: true, force: true });
  const draft = mkdtempSync(join(parent, 'postgres-new-'));
  const passwordFile = `${draft}.password`;
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (owner) for (const path of [draft, passwordFile]) chownSync(path, owner.uid, owner.gid);
  const access = ['--username', postgresUser, '--pwfile', passwordFile, '--auth', 'scram-sha-256'];
  const locale = ['--encoding', 'UTF8', '--locale', 'C', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'];
  try {
    await promisify(execFile)(initdb, ['--pgdata', draft, ...access, ...locale], { cwd: parent, ...owner });
    renameSync(draft, dataFolder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw new Error(`PostgreSQL could not create its data folder ${dataFolder}`, { cause: error });
  } finally {
    rmSync(passwordFile, { force: true });
  }
}
