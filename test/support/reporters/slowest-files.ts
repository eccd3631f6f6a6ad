/** How long a file of tests took. */
export interface FileDuration {
  /** Path from the root of the project. */
  readonly file: string;
  /** Its tests and hooks, in milliseconds. */
  readonly durationMs: number;
}

/** Lines of the table. */
const linesMax = 20;
/** Shorter files are not worth a line. */
const slowMs = 1000;

/** The slowest files as a table for the end of a run, longest first; empty when no file was slow. */
export function slowestFiles(files: readonly FileDuration[]): string {
  const slow = files.filter(({ durationMs }) => durationMs >= slowMs);
  if (slow.length === 0) return '';
  const longestFirst = slow.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, linesMax);
  const lines = longestFirst.map(({ file, durationMs }) => `${(durationMs / 1000).toFixed(1).padStart(7)}  ${file}\n`);
  return `Slowest files, in seconds:\n${lines.join('')}`;
}
