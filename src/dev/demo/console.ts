import { clearLine, cursorTo } from 'node:readline';
import { styleText } from 'node:util';

/** On stdout at a terminal, else on stderr, as stdout is for the summary. */
export interface Screen {
  /** Shows the seconds since the last step and since the start. */
  step(text: string): void;
  note(text: string): void;
  /** Overwrites itself until the next line. */
  progress(text: string): void;
  /** The first row is the header. */
  table(rows: readonly (readonly string[])[]): void;
  box(title: string, lines: readonly (readonly [string, string])[]): void;
}

/** Only without a terminal. */
const progressMs = 2_000;

/** `startedAt` is of `performance.now()`. */
export function createScreen(stream: NodeJS.WriteStream, startedAt: number): Screen {
  const paint = createPaint(stream);
  const live = createLiveLine(stream);
  let last = startedAt;
  const write = (text: string): void => {
    live.clear();
    stream.write(`${text}\n`);
  };
  return {
    step: (text) => {
      const now = performance.now();
      write(`${paint('dim', `${seconds(now - startedAt)} (+${seconds(now - last).trim()})`.padEnd(18))}${text}`);
      last = now;
    },
    note: (text) => write(`${' '.repeat(18)}${text}`),
    progress: live.show,
    table: (rows) => {
      for (const [index, line] of alignColumns(rows).entries()) {
        write(`${' '.repeat(18)}${index === 0 ? paint('dim', line) : line}`);
      }
    },
    box: (title, lines) => {
      const width = Math.max(...lines.map(([name]) => name.length));
      write(`\n${paint('bold', title)}`);
      for (const [name, text] of lines) write(`  ${paint('dim', name.padEnd(width))}  ${text}`);
      write('');
    },
  };
}

/** `171,078`. */
export const count = (value: number): string => value.toLocaleString('en-US');

function alignColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => (isNumber(cell) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

const isNumber = (cell: string): boolean => /^-?[\d,]+(\.\d+)?$/.test(cell);

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`.padStart(7);

const createPaint =
  (stream: NodeJS.WriteStream) =>
  (style: 'dim' | 'bold', text: string): string =>
    styleText(style, text, { stream });

function createLiveLine(stream: NodeJS.WriteStream) {
  let shown = false;
  let lastAt = Number.NEGATIVE_INFINITY;
  return {
    clear: (): void => {
      if (shown) {
        cursorTo(stream, 0);
        clearLine(stream, 0);
      }
      shown = false;
    },
    show: (text: string): void => {
      const line = `${' '.repeat(18)}${text}`;
      if (stream.isTTY) {
        cursorTo(stream, 0);
        stream.write(line.slice(0, stream.columns - 1));
        clearLine(stream, 1);
        shown = true;
      } else if (performance.now() - lastAt >= progressMs) {
        lastAt = performance.now();
        stream.write(`${line}\n`);
      }
    },
  };
}
