/** What makes a program in a cache safe to run. Loaded by the launcher too, under Node 18. */
import { createHash } from 'node:crypto';
import { chmodSync, closeSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';

/**
 * Makes the folder, or takes one that is there from everybody else: whoever can write to it decides what we run.
 * Throws when it cannot be made, or belongs to a user who is neither we nor root, or to root and others may write to it.
 * @param {string} path
 */
export function ownFolder(path) {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(path);
  const [we, isOpen] = [process.getuid?.() ?? uid, (mode & 0o077) !== 0];
  if (uid === we && isOpen && process.platform !== 'win32') chmodSync(path, 0o700);
  if (uid === we || (uid === 0 && (mode & 0o022) === 0)) return;
  throw new Error(`${path} can be written to by others (it belongs to user ${uid}): delete it, or set XDG_CACHE_HOME`);
}

/** Read at once; a whole program would stay in the memory of the launcher. */
const chunkBytes = 1024 * 1024;

/**
 * SHA-256 of a file in hexadecimal; null when it is not there. 0.2 s for 150 MB (measured), so it is asked at each start.
 * @param {string} path
 * @returns {string | null}
 */
export function sha256Of(path) {
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(chunkBytes);
  const file = openIfThere(path);
  if (file === null) return null;
  try {
    for (let size = readSync(file, chunk); size > 0; size = readSync(file, chunk)) hash.update(chunk.subarray(0, size));
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}

/** @param {string} path */
function openIfThere(path) {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}
