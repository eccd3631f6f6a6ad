import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../log.ts';
import { lockDataDir } from '../embedded/data-dir-lock.ts';
import { postgresFolder } from '../embedded/postgres.ts';
import { postgresStop, runningServer } from '../embedded/postgres-cluster.ts';
import { stopProcess } from '../embedded/process-table.ts';

/** Nothing else in the data folder is removed. */
const ownNames =
  /^(postgres|postgres-password|temporal|temporal\.db.*|temporal\.pid|cache|secrets\.json|demo\.log|logs|ready\.json|supervisor\.lock)$/;

/**
 * Also removes the folder if it is then empty. Returns the removed paths.
 * @throws DataDirInUseError when a supervisor runs on it.
 */
export async function wipe(dataDir: string, log: Log): Promise<readonly string[]> {
  if (!existsSync(dataDir)) return [];
  const lock = lockDataDir(dataDir, 'nothing: it is being wiped');
  try {
    const cluster = postgresFolder(dataDir, { log });
    const leftover = runningServer(cluster);
    if (leftover) await stopProcess(leftover, postgresStop);
    const inside = readdirSync(dataDir).filter((name) => ownNames.test(name) && name !== 'supervisor.lock');
    const paths = [...new Set([...inside.map((name) => join(dataDir, name)), cluster])].filter((path) =>
      existsSync(path),
    );
    for (const path of paths) rmSync(path, { recursive: true });
    return paths;
  } finally {
    lock.release();
    if (readdirSync(dataDir).length === 0) rmdirSync(dataDir);
  }
}
