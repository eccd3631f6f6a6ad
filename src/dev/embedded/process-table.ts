/** What the operating system says about processes that are not, or no longer, our children. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../core/error-code.ts';

/**
 * When the process started, as text of the operating system: with the pid it names one process for ever, since pids
 * are given again. Null when no such process runs.
 */
export function processStart(pid: number): string | null {
  if (process.platform !== 'linux') return ps(pid, 'lstart');
  const stat = readProc(pid, 'stat');
  // The second field is the name in brackets and may hold blanks; state is the third field, start time the 22nd.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields === undefined || fields[0] === 'Z' ? null : (fields[19] ?? null);
}

/** Program and arguments separated by blanks; null when no such process runs or it is not ours to see. */
export function commandLine(pid: number): string | null {
  if (process.platform !== 'linux') return ps(pid, 'command');
  return readProc(pid, 'cmdline')?.replaceAll('\0', ' ').trim() ?? null;
}

/** One process, told apart from a later one of the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly start: string;
}

/** The running process of this pid; null when there is none. */
export function identify(pid: number): ProcessIdentity | null {
  const start = processStart(pid);
  return start === null ? null : { pid, start };
}

/** Whether exactly this process still runs. */
export const isRunning = ({ pid, start }: ProcessIdentity): boolean => processStart(pid) === start;

/** The signal that tells a process to stop, and how long before it is killed. */
export interface StopOptions {
  readonly signal: NodeJS.Signals;
  readonly timeoutMs: number;
}

const pollMs = 25;

/** Asks the process to stop and waits for its end; kills it when it takes longer than `timeoutMs`. */
export async function stopProcess(target: ProcessIdentity, { signal, timeoutMs }: StopOptions): Promise<void> {
  if (!sendSignal(target, signal)) return;
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    if (!isRunning(target)) return;
    await sleep(pollMs);
  }
  sendSignal(target, 'SIGKILL');
}

/** Kills what is left of the process group that this pid led; does nothing when nothing is left. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // For a group of processes that have ended and were not yet waited for, macOS says EPERM.
    if (!hasCode(error, 'ESRCH', 'EPERM')) throw error;
  }
}

function sendSignal(target: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isRunning(target)) return false;
  try {
    return process.kill(target.pid, signal);
  } catch (error) {
    if (isRunning(target)) throw error;
    return false;
  }
}

function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    // Reading about a process that ends meanwhile gives ESRCH.
    if (hasCode(error, 'ENOENT', 'ESRCH', 'EACCES')) return null;
    throw error;
  }
}

function ps(pid: number, column: string): string | null {
  try {
    return (
      execFileSync('ps', ['-p', String(pid), '-o', `${column}=`], { encoding: 'utf8', stdio: 'pipe' }).trim() || null
    );
  } catch (error) {
    if (error instanceof Error && 'status' in error && error.status === 1) return null;
    throw error;
  }
}
