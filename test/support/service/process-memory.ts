import { readFile, writeFile } from 'node:fs/promises';

/** The highest resident set a process had since it started, or since {@link forgetPeak}, MB. Linux only. */
export async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024);
}

/** Lets {@link peakMemory} begin anew at what the process holds now. */
export const forgetPeak = (pid: number): Promise<void> => writeFile(`/proc/${pid}/clear_refs`, '5');
