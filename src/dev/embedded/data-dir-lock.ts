import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { hasCode } from '../../core/error-code.ts';
import { identify, isRunning } from './process-table.ts';

/** Another process already runs on this folder; nothing of it was touched. */
export class DataDirInUseError extends Error {
  override readonly name = 'DataDirInUseError';
}

const Holder = v.object({ pid: v.number(), start: v.string(), url: v.string() });
type Holder = v.InferOutput<typeof Holder>;

/**
 * Makes this process the only supervisor of the folder until `release`. A lock whose process has ended is taken over.
 * @param url where this supervisor's API responds; told to whoever comes second.
 * @throws DataDirInUseError naming pid and URL of the running supervisor.
 */
export function lockDataDir(dataDir: string, url: string): { release(): void } {
  // Root's servers run as another user, who must pass through.
  mkdirSync(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  const path = join(dataDir, 'supervisor.lock');
  const own = { pid: process.pid, start: identify(process.pid)?.start ?? '', url };
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(own)}\n`);
  try {
    while (!linked(draft, path)) {
      const holder = readHolder(path);
      if (holder && isRunning(holder)) throw inUse(dataDir, holder);
      removeStale(path, holder);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  return { release: () => rmSync(path, { force: true }) };
}

function inUse(dataDir: string, { pid, url }: Holder): DataDirInUseError {
  return new DataDirInUseError(
    `${dataDir} is in use by process ${pid}, which serves ${url}. Stop it first, or start this one with another DATA_DIR and PORT.`,
  );
}

/** A hard link is made in one step and only when the name is free. */
function linked(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Null when the lock was deleted meanwhile or was cut off by a crash of the machine. */
function readHolder(path: string): Holder | null {
  try {
    const { success, output } = v.safeParse(v.pipe(v.string(), v.parseJson(), Holder), readFileSync(path, 'utf8'));
    return success ? output : null;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/** Two processes may find the same stale lock: what was moved aside is put back when it is the other's new one. */
function removeStale(path: string, stale: Holder | null): void {
  const aside = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  const moved = readHolder(aside);
  if (moved && moved.start !== stale?.start && isRunning(moved)) linked(aside, path);
  rmSync(aside, { force: true });
}
