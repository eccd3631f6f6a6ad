import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** What a command line printed. */
export interface CssOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a command line is called. */
export interface CssCall {
  readonly folder: string;
  /** Beside PATH and HOME; HOME is the folder. */
  readonly env?: Readonly<Record<string, string>>;
  /** What is piped into it. */
  readonly input?: string;
  /** Called with the process once it runs. */
  readonly onStart?: (process: { kill(signal: 'SIGINT'): void; whenPrinted(words: string): Promise<void> }) => void;
}

const cssFile = join(import.meta.dirname, '../../../src/css.ts');

/** Modules that an earlier process compiled are not compiled again. */
const { NODE_COMPILE_CACHE } = process.env;
const compiled = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

/** Runs the command line of authors as a process of its own. */
export async function runCss(call: CssCall, ...args: readonly string[]): Promise<CssOutcome> {
  const { folder, env = {}, input = '', onStart } = call;
  const child = spawn(process.execPath, [cssFile, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...compiled, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(input);
  const exited = new Promise<number>((done) => child.once('close', (code) => done(code ?? -1)));
  const whenPrinted = (words: string) =>
    new Promise<void>((done) => {
      let printed = '';
      child.stdout.on('data', (chunk) => {
        printed += String(chunk);
        if (printed.includes(words)) done();
      });
    });
  onStart?.({ kill: (signal) => child.kill(signal), whenPrinted });
  const [exitCode, stdout, stderr] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
  return { exitCode, stdout, stderr };
}
