import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { hasCode } from '../../core/error-code.ts';
import { identify, isRunning } from './process-table.ts';

/** Nothing in the folder was changed. */
export class DataDirInUseError extends Error {
  override readonly name = 'DataDirInUseError';
}

const Holder = v.object({ pid: v.number(), start: v.string(), url: v.string() });
type Holder = v.InferOutput<typeof Holder>;

/**
 * Takes over a lock whose process has ended.
 * @param url where this supervisor's API responds; shown to a second supervisor.
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

/** Atomic; fails if the name is taken. */
function linked(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** `null` if the lock was deleted meanwhile or cut off by a crash of the machine. */
function readHolder(path: string): Holder | null {
  try {
    const { success, output } = v.safeParse(v.pipe(v.string(), v.parseJson(), Holder), readFileSync(path, 'utf8'));
    return success ? output : null;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/** Two processes may find the same stale lock: a new lock of the other one is put back. */
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
