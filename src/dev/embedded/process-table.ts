/** Data on processes that are not our children, or no longer. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../core/error-code.ts';

/**
 * Text of the operating system; `null` if no such process runs. Pids are reused, but pid and start identify one process
 * for ever.
 */
export function processStart(pid: number): string | null {
  if (process.platform !== 'linux') return ps(pid, 'lstart');
  const stat = readProc(pid, 'stat');
  // The second field is the name in brackets and may contain blanks; state is the third field, start time the 22nd.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields === undefined || fields[0] === 'Z' ? null : (fields[19] ?? null);
}

/** Separated by blanks; `null` if no such process runs or it is not ours to see. */
export function commandLine(pid: number): string | null {
  if (process.platform !== 'linux') return ps(pid, 'command');
  return readProc(pid, 'cmdline')?.replaceAll('\0', ' ').trim() ?? null;
}

/** Distinguishes a process from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly start: string;
}

export function identify(pid: number): ProcessIdentity | null {
  const start = processStart(pid);
  return start === null ? null : { pid, start };
}

export const isRunning = ({ pid, start }: ProcessIdentity): boolean => processStart(pid) === start;

/** The process is killed after `timeoutMs`. */
export interface StopOptions {
  readonly signal: NodeJS.Signals;
  readonly timeoutMs: number;
}

const pollMs = 25;

export async function stopProcess(target: ProcessIdentity, { signal, timeoutMs }: StopOptions): Promise<void> {
  if (!sendSignal(target, signal)) return;
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    if (!isRunning(target)) return;
    await sleep(pollMs);
  }
  sendSignal(target, 'SIGKILL');
}

/** Does nothing if the group has ended. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // macOS says EPERM for a group of ended processes that were not waited for.
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
