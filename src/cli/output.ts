import type { Issue } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import type { Tools } from './tools.ts';

export interface CommandResult {
  readonly json: unknown;
  readonly lines: readonly string[];
  readonly exitCode?: number;
}

export type Perform = (work: () => Promise<CommandResult>) => Promise<void>;

/** Columns as wide as their longest cell, except the last. */
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

export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

export const issueLine = ({ path, message, line, column }: Issue): string =>
  [line === undefined ? '' : `${line}:${column ?? 1}`, path, message].filter(Boolean).join('  ');

/** On stderr. */
export interface Progress {
  /** Replaces the previous line on a terminal; elsewhere an occasional line. */
  now(text: string): void;
  say(text: string): void;
  clear(): void;
}

/** Between lines of progress, only without a terminal. */
const pauseMs = 5_000;

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
