import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A process under test: a real one, started as an operator starts it, ended by real signals. */
export interface ServiceProcess {
  readonly name: string;
  readonly pid: number;
  /** Resolves when a line with this text was logged, also shortly before. Rejects when the process ends first. */
  logged(fragment: string): Promise<void>;
  /** Sends a signal. Resolves at once, or with the end of the process when the signal is one that ends it. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Exit code, null while it runs and after a signal. */
  exitCode(): number | null;
  /** Ends it and everything it started, whatever state it is in. */
  destroy(): Promise<void>;
  /** Its last lines, on stdout and stderr. */
  tail(): string;
}

/** What is started. */
export interface ServiceProcessPlan {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Takes each whole line that it writes; absent: nobody does. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** True: it is told over IPC when we die. False: it is watched by a shell that ends it. */
  readonly watchesParent: boolean;
}

const root = fileURLToPath(new URL('../../..', import.meta.url));
/** Lines of a process that are kept. */
const tailLines = 60;
/** Characters of a line that are kept. */
const lineMax = 3000;

/** Starts it in a process group of its own, which dies with us in any case. */
export function startServiceProcess(plan: ServiceProcessPlan): ServiceProcess {
  const child = launch(plan);
  const { pid } = child;
  if (pid === undefined) throw new Error(`${plan.name} could not be started: ${plan.command}`);
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  const output = readOutput(child, plan.onLine);
  const isUp = () => child.exitCode === null && child.signalCode === null;
  return {
    name: plan.name,
    pid,
    tail: () => `--- ${plan.name} (${pid}) ---\n${output.tail()}`,
    async logged(fragment) {
      const died = ended.then(() => {
        throw new Error(`${plan.name} ended before it logged ${fragment}:\n${output.tail()}`);
      });
      await Promise.race([output.said(fragment), died]);
    },
    async kill(signal) {
      if (isUp()) child.kill(signal);
      if (endingSignals.has(signal)) await ended;
    },
    exitCode: () => child.exitCode,
    async destroy() {
      killGroup(pid);
      if (isUp()) await ended;
    },
  };
}

const endingSignals: ReadonlySet<NodeJS.Signals> = new Set(['SIGKILL', 'SIGTERM', 'SIGINT']);

/** A shell that reads our pipe sees our end, however we died, and takes the foreign program with it. */
const shell = '"$@" & cat; kill -9 $!';

function launch({ command, args, env, watchesParent }: ServiceProcessPlan): ChildProcess {
  const options = { cwd: root, env, detached: true } as const;
  return watchesParent
    ? spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    : spawn('sh', ['-c', shell, 'sh', command, ...args], { ...options, stdio: ['pipe', 'pipe', 'pipe'] });
}

function readOutput(child: ChildProcess, onLine: ServiceProcessPlan['onLine']) {
  const lines: string[] = [];
  const waiting: { readonly fragment: string; readonly done: () => void }[] = [];
  const take = (line: string): void => {
    onLine?.(line);
    for (const { fragment, done } of waiting) if (line.includes(fragment)) done();
    // One line per request of a test that asks again and again would push out all others.
    if (!line.includes('"message":"request"')) lines.push(line.slice(0, lineMax));
    if (lines.length > 2 * tailLines) lines.splice(0, lines.length - tailLines);
  };
  for (const stream of [child.stdout, child.stderr]) {
    let rest = '';
    stream?.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) take(line);
    });
  }
  const said = async (fragment: string): Promise<void> => {
    if (lines.some((line) => line.includes(fragment))) return;
    await new Promise<void>((done) => waiting.push({ fragment, done }));
  };
  return { said, tail: () => lines.slice(-tailLines).join('\n') };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // Nothing of the group is left.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
