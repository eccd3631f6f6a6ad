import { execFileSync } from 'node:child_process';

/** The processes of SQL Server drivers that a process has started, by their ids. */
export const driverProcesses = (parent: number): readonly number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, ofParent, ...args]) =>
        Number(ofParent) === parent && args.some((arg) => arg.endsWith('/sqlserver/driver/child.ts')),
    )
    .map(([pid]) => Number(pid));
