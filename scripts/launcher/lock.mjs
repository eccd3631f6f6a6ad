/** A lock between processes: a folder, whose name is free or taken in one step of the file system. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const pollMs = 200;

/**
 * Waits for the lock. A lock whose process has ended is taken over.
 * @param {string} folder @param {string} name
 * @returns {Promise<() => void>} releases it
 */
export async function acquireLock(folder, name) {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  const draft = join(folder, `${name}.${process.pid}`);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft);
  writeFileSync(join(draft, 'pid'), String(process.pid));
  for (let told = false; !moved(draft, path); ) {
    const holder = holderOf(path);
    if (holder !== null && !isAlive(holder)) remove(path, holder);
    else {
      if (!told) process.stderr.write(`waiting for process ${holder ?? '?'}, which installs packages\n`);
      told = true;
      await new Promise((done) => setTimeout(done, pollMs));
    }
  }
  return () => {
    // Emptied in place, the folder would for a moment be one that others can move onto.
    if (moved(path, draft)) rmSync(draft, { recursive: true, force: true });
  };
}

/** A folder cannot be moved onto one that is not empty. @param {string} from @param {string} to */
function moved(from, to) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'EPERM', 'ENOENT'].includes(error.code)) return false;
    throw error;
  }
}

/** @param {string} path @returns {number | null} null when the lock was released meanwhile */
function holderOf(path) {
  try {
    return Number(readFileSync(join(path, 'pid'), 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/**
 * Another process may have taken the lock over meanwhile: then its lock is moved back.
 * @param {string} path @param {number} holder
 */
function remove(path, holder) {
  const aside = `${path}.stale-${process.pid}`;
  if (!moved(path, aside)) return;
  if (holderOf(aside) !== holder) moved(aside, path);
  rmSync(aside, { recursive: true, force: true });
}
