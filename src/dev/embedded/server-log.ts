import { closeSync, mkdirSync, openSync, readSync, statSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { hasCode } from '../../core/error-code.ts';

/** The bytes above which the file is emptied at the next start. */
const sizeMax = 10 * 1024 * 1024;
/** The bytes of a start that are looked at, from its beginning. */
const headBytes = 64 * 1024;
/** The characters of a failed start that are shown, from its end. */
const tailLength = 2000;

/** Where an embedded server writes. A file and not a pipe: the server outlives a killed reader without an error. */
export interface ServerLog {
  /** Descriptor for the child's stdout and stderr; closed by the caller after the spawn. */
  open(): number;
  /** Whether the text was written since the last `open`. */
  says(text: string): boolean;
  /** The end of what was written since the last `open`. */
  tail(): string;
}

/** The log file at `path`. */
export function serverLog(path: string): ServerLog {
  let start = 0;
  const head = (): string => {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(headBytes);
      return bytes.toString('utf8', 0, readSync(file, bytes, 0, headBytes, start));
    } finally {
      closeSync(file);
    }
  };
  return {
    open() {
      mkdirSync(dirname(path), { recursive: true });
      if (sizeOf(path) > sizeMax) truncateSync(path);
      start = sizeOf(path);
      return openSync(path, 'a', 0o600);
    },
    says: (text) => head().toLowerCase().includes(text.toLowerCase()),
    tail: () => head().slice(-tailLength).trim(),
  };
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0;
    throw error;
  }
}
