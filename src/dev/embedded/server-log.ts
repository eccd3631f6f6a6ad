import { closeSync, mkdirSync, openSync, readSync, statSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { hasCode } from '../../core/error-code.ts';

/** The bytes above which the file is emptied at the next start. */
const sizeMax = 10 * 1024 * 1024;
/** The bytes that are searched at once. */
const pieceBytes = 64 * 1024;
/** The bytes of a failed start that are shown, from its end. */
const tailBytes = 2000;

/** Where an embedded server writes. A file and not a pipe: the server outlives a killed reader without an error. */
export interface ServerLog {
  /** Descriptor for the child's stdout and stderr; closed by the caller after the spawn. */
  open(): number;
  /** Whether the text, of ASCII characters in any case, was written since the last `open`, however much else was. */
  says(text: string): boolean;
  /** The end of what was written since the last `open`. */
  tail(): string;
}

/** The log file at `path`. */
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

/** A character for each byte. */
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
