import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { commandLine } from '../../src/dev/embedded/process-table.ts';
import { eventually } from '../support/service/eventually.ts';

/** The project's folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** How a process under test is started. */
export interface SupervisorPlan {
  readonly command: string;
  readonly args: readonly string[];
  /** On top of our own environment; undefined removes a variable. */
  readonly env: NodeJS.ProcessEnv;
  readonly user?: { readonly uid: number; readonly gid: number };
}

/** A supervisor as an operator starts it, in a process group of its own. */
export interface SupervisorProcess extends AsyncDisposable {
  readonly pid: number;
  /** First line of stdout that is JSON with this field; rejects with stderr when the process ends before. */
  line(field: string): Promise<Record<string, unknown>>;
  kill(signal: NodeJS.Signals): void;
  /** As Ctrl-C: the signal goes to the whole process group. */
  killGroup(signal: NodeJS.Signals): void;
  /** The exit code, or the signal it died of. */
  ended(): Promise<number | string | null>;
  stderr(): string;
}

/** Starts it; disposing kills it. */
export function startSupervisor({ command, args, env, user }: SupervisorPlan): SupervisorProcess {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    detached: true,
    stdio: 'pipe',
    ...user,
  });
  const end = new Promise<number | string | null>((done) =>
    child.once('close', (code, signal) => done(code ?? signal)),
  );
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (data) => (output.stdout += String(data)));
  child.stderr.on('data', (data) => (output.stderr += String(data)));
  const pid = child.pid ?? 0;
  return {
    pid,
    line: (field) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = linesOf(output.stdout).find((line) => field in line);
          if (found) child.stdout.off('data', look);
          if (found) resolve(found);
        };
        child.stdout.on('data', look);
        void end.then((code) => reject(new Error(`ended with ${code}: ${output.stderr}`)));
        look();
      }),
    kill: (signal) => void child.kill(signal),
    killGroup: (signal) => void process.kill(-pid, signal),
    ended: () => end,
    stderr: () => output.stderr,
    async [Symbol.asyncDispose]() {
      if (isUp(child)) child.kill('SIGKILL');
      await end;
    },
  };
}

function linesOf(text: string): readonly Record<string, unknown>[] {
  const whole = text.split('\n').slice(0, -1);
  return whole.filter((line) => line.startsWith('{')).map((line): Record<string, unknown> => JSON.parse(line));
}

const isUp = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

/** Command lines of processes that mention the text, zombies and ourselves left out. */
export function processesWith(text: string): readonly string[] {
  const pids =
    process.platform === 'linux'
      ? readdirSync('/proc').filter((name) => /^\d+$/.test(name))
      : execFileSync('ps', ['-axo', 'pid='], { encoding: 'utf8' }).trim().split(/\s+/);
  return pids
    .filter((pid) => Number(pid) !== process.pid)
    .map((pid) => `${pid} ${commandLine(Number(pid)) ?? ''}`)
    .filter((line) => line.includes(text));
}

/** Waits until no process mentions the text: on a busy machine nearly as long as a hook may take. */
export const nothingLeft = (text: string): Promise<true> =>
  eventually(
    `no process of ${text}`,
    async () => {
      const left = processesWith(text);
      if (left.length > 0) throw new Error(left.join('\n'));
      return true;
    },
    { timeoutMs: 55_000 },
  );
