/** Makes a program in a cache safe to run. Loaded by the launcher too, under Node 18. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';

const isWindows = process.platform === 'win32';
/** @param {number} uid */
const isTrusted = (uid) => uid === 0 || uid === (process.getuid?.() ?? uid);
/** @param {number} mode */
const isOpen = (mode) => (mode & 0o022) !== 0;

/**
 * Closes a folder to others: everyone who can write to it decides what we run. A folder that others could write to is
 * replaced by an empty one, as its content may be theirs. Throws when it cannot be made or replaced, belongs to a user other
 * than us or root, or to root and others may write to it.
 * @param {string} path
 */
export function ownFolder(path) {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(path);
  const isOurs = uid === (process.getuid?.() ?? uid);
  if (isWindows || (isTrusted(uid) && (mode & 0o077) === 0)) return;
  if (isOurs && isOpen(mode)) replaceFolder(path);
  else if (isOurs) chmodSync(path, 0o700);
  else if (!isTrusted(uid) || isOpen(mode)) {
    throw new Error(
      `${path} can be written to by others (it belongs to user ${uid}): delete it, or set XDG_CACHE_HOME`,
    );
  }
}

/**
 * In one step: a process that starts at the same moment sees the open folder, none, or an empty one.
 * @param {string} path
 */
function replaceFolder(path) {
  const aside = `${path}.open-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    // Another process has replaced it.
    if (error.code !== 'ENOENT') {
      throw new Error(
        `${path} could be written to by others and cannot be replaced: delete it, or set XDG_CACHE_HOME`,
        {
          cause: error,
        },
      );
    }
  }
  mkdirSync(path, { recursive: true, mode: 0o700 });
  try {
    chmodSync(aside, 0o700);
    rmSync(aside, { recursive: true, force: true });
  } catch {
    // It has folders of others. Its content is never used.
  }
}

/**
 * True if only we or root can have written a file, or a folder with everything in it. Nothing in it may belong to others, be
 * writable by others, or be a link, except to a neighbour in the folder. False when it does not exist.
 * @param {string} path
 * @returns {boolean}
 */
export function isOwn(path) {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || !(found.isFile() || found.isDirectory())) return false;
  if (!isWindows && (!isTrusted(found.uid) || isOpen(found.mode))) return false;
  return (
    found.isFile() ||
    readdirSync(path, { withFileTypes: true }).every((entry) =>
      entry.isSymbolicLink() ? isOwnLink(join(path, entry.name)) : isOwn(join(path, entry.name)),
    )
  );
}

/**
 * A link of ours to another file of its folder, which is checked by itself.
 * @param {string} path
 */
function isOwnLink(path) {
  return (isWindows || isTrusted(lstatSync(path).uid)) && /^(?!\.+$)[^/\\]+$/.test(readlinkSync(path));
}

/** @param {string} path */
export function closeToOthers(path) {
  const found = lstatSync(path);
  if (!found.isSymbolicLink()) chmodSync(path, found.mode & 0o755);
  if (found.isDirectory()) for (const name of readdirSync(path)) closeToOthers(join(path, name));
}

/** Bytes read at once; a whole program would stay in the memory of the launcher. */
const chunkBytes = 1024 * 1024;

/**
 * `null` if the file does not exist. 0.2 s for 150 MB (measured), cheap enough for each start.
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
