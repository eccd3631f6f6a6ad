import { closeSync, mkdirSync, openSync, readSync, statSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { hasCode } from '../../core/error-code.ts';

/** A larger file is emptied at the next start. */
const sizeMax = 10 * 1024 * 1024;
const pieceBytes = 64 * 1024;
const tailBytes = 2000;

/** A file and not a pipe: the server outlives a killed reader without an error. */
export interface ServerLog {
  /** The caller closes the descriptor after the spawn. */
  open(): number;
  /** ASCII text in any case, since the last `open`. */
  says(text: string): boolean;
  /** Since the last `open`. */
  tail(): string;
}

export function serverLog(path: string): ServerLog {
  let start = 0;
  /** By text: the position up to which it was not found. */
  const searched = new Map<string, number>();
  return {
    open() {
      mkdirSync(dirname(path), { recursive: true });
      if (sizeOf(path) > sizeMax) truncateSync(path);
      start = sizeOf(path);
      searched.clear();
      return openSync(path, 'a', 0o600);
    },
    says(text) {
      const wanted = text.toLowerCase();
      for (let from = searched.get(wanted) ?? start; ; ) {
        const piece = read(path, { from, length: pieceBytes });
        if (piece.toLowerCase().includes(wanted)) return true;
        if (piece.length < wanted.length) return false;
        // The text may begin in this piece and end in the next one.
        from += piece.length - wanted.length + 1;
        searched.set(wanted, from);
      }
    },
    tail() {
      const from = Math.max(start, sizeOf(path) - tailBytes);
      return Buffer.from(read(path, { from, length: tailBytes }), 'latin1')
        .toString('utf8')
        .trim();
    },
  };
}

/** Latin-1: one character per byte. */
function read(path: string, { from, length }: { readonly from: number; readonly length: number }): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(length);
    return bytes.toString('latin1', 0, readSync(file, bytes, 0, length, from));
  } finally {
    closeSync(file);
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0;
    throw error;
  }
}
