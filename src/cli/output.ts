import type { Issue } from '../core/errors.ts';
import type { Tools } from './tools.ts';

/** What a command found or did: one JSON document, and the same for people. */
export interface CommandResult {
  readonly json: unknown;
  readonly lines: readonly string[];
  /** 0 unless given. */
  readonly exitCode?: number;
}

/** Does the work of a command and prints its result. */
export type Perform = (work: () => Promise<CommandResult>) => Promise<void>;

/** Characters with which the text of an API could control a terminal. */
// oxlint-disable-next-line no-control-regex -- exactly these are replaced
const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;

/** A line that a terminal shows as it is. */
export const printable = (line: string): string => line.replaceAll(controls, '\ufffd');

/** Columns as wide as their longest cell; the last one as it is. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows.reduce<readonly number[]>(
    (widest, row) => row.map((cell, column) => Math.max(cell.length, widest[column] ?? 0)),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** A number with its noun. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

/** An issue as one line: place, path, message. */
export const issueLine = ({ path, message, line, column }: Issue): string =>
  [line === undefined ? '' : `${line}:${column ?? 1}`, path, message].filter(Boolean).join('  ');

/** Progress for whoever waits, on stderr. */
export interface Progress {
  /** What is happening now: one line that is replaced on a terminal; elsewhere a line now and then. */
  now(text: string): void;
  /** A line that stays. */
  say(text: string): void;
  /** Removes what {@link Progress.now} wrote last. */
  clear(): void;
}

/** Milliseconds between lines of progress where there is no terminal. */
const pauseMs = 5_000;

/** Starts silent. */
export function createProgress({ stderr }: Pick<Tools, 'stderr'>): Progress {
  let shownAt = performance.now();
  let isShown = false;
  const clear = (): void => {
    if (isShown) stderr.write('\r\u001b[K');
    isShown = false;
  };
  return {
    now(text) {
      if (stderr.isTTY) {
        stderr.write(`\r\u001b[K${printable(text).slice(0, (stderr.columns ?? 80) - 1)}`);
        isShown = true;
      } else if (performance.now() - shownAt >= pauseMs) {
        shownAt = performance.now();
        stderr.write(`${printable(text)}\n`);
      }
    },
    say(text) {
      clear();
      stderr.write(`${printable(text)}\n`);
    },
    clear,
  };
}
