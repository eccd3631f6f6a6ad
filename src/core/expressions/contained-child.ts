import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { containmentFlags } from '../work/containment-flags.ts';
import { readLines } from './lines.ts';

/** A child's response to one job, or why it ended: it exceeded the time limit, or died (out of memory). */
export type ChildResponse =
  | { readonly ok: true; readonly line: string }
  | { readonly ok: false; readonly reason: 'timeout' | 'memory' };

/** A process that cannot read files or environment variables, start processes or make code from strings. */
export interface ContainedChild {
  readonly pid: number;
  isAlive(): boolean;
  /** Sends the lines of one job at a time and resolves with its one-line response, or `ok: false` if the child ended. */
  ask(lines: readonly string[], timeoutMs: number): Promise<ChildResponse>;
  kill(): Promise<void>;
}

/** Throws when the child ends or sends nothing for 30 s. */
export async function startContainedChild(): Promise<ContainedChild> {
  const child = spawn(process.execPath, [...evaluatorFlags, entry], { env: {}, stdio: ['pipe', 'pipe', 'pipe'] });
  const errorText = keepTail(child);
  const exited = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  const waiting: { response: ((response: ChildResponse) => void) | null } = { response: null };
  const respond = (response: ChildResponse): void => {
    const resolve = waiting.response;
    waiting.response = null;
    resolve?.(response);
  };
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  // A write to a child that has just died; `exited` sees its end.
  child.stdin.on('error', () => respond({ ok: false, reason: 'memory' }));
  void exited.then(() => respond({ ok: false, reason: 'memory' }));
  readLines(child.stdout, {
    bytesMax: responseBytesMax,
    onLine: (line) => respond({ ok: true, line }),
    onTooLong: () => child.kill('SIGKILL'),
  });

  const next = async (timeoutMs: number): Promise<ChildResponse> => {
    const { promise, resolve } = Promise.withResolvers<ChildResponse>();
    waiting.response = resolve;
    // A response that arrived while this process was busy is read before the immediate runs: it counts.
    const timer = setTimeout(() => setImmediate(() => respond({ ok: false, reason: 'timeout' })), timeoutMs);
    const response = await promise;
    clearTimeout(timer);
    if (!response.ok) await kill();
    return response;
  };
  const ready = await next(startTimeoutMs);
  if (!ready.ok) throw new Error(`The evaluator process did not start (${ready.reason}): ${errorText()}`);
  const isAlive = (): boolean => child.exitCode === null && child.signalCode === null;
  return {
    pid: child.pid ?? 0,
    isAlive,
    kill,
    ask: async (lines, timeoutMs) => {
      if (!isAlive()) return { ok: false, reason: 'memory' };
      child.stdin.write(`${lines.join('\n')}\n`);
      return await next(timeoutMs);
    },
  };
}

/** A child starts in 60 to 100 ms; a starved machine gets time. */
const startTimeoutMs = 30_000;

/** At most 4 MB of results plus the last record's (evaluator.ts); more is invalid. */
const responseBytesMax = 32 * 1024 * 1024;

const entry = fileURLToPath(new URL('evaluator.ts', import.meta.url));
const core = dirname(dirname(entry));
const jsonataFolder = dirname(createRequire(import.meta.url).resolve('jsonata/package.json'));

export const evaluatorMemoryMb = 128;

/**
 * A child may read only our own core sources and jsonata, not the application's folder, which may hold an `.env`. The
 * evaluator drops even that access once it has loaded.
 */
export const evaluatorFlags = containmentFlags({
  memoryMb: evaluatorMemoryMb,
  readable: [core, join(core, '..', '..', 'package.json'), jsonataFolder],
});

/** The end of the child's error output, for a failed start; V8's heap reports stay out of the log. */
function keepTail(child: ChildProcess): () => string {
  let tail = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-2_000);
  });
  return () => tail;
}
