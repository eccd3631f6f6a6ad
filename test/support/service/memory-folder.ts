import { readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const sharedMemory = '/dev/shm';
/** What the servers of a run may need there and what the machine must have left, bytes. */
const roomMin = { folder: 4 * 1024 ** 3, memory: 8 * 1024 ** 3 } as const;

/**
 * Where the data of servers belong that no power failure is tested with: in memory, or in the temporary folder where there
 * is no room. Making a test's database takes 30 ms of CPU instead of 100 to 300, as the disk is busy (measured).
 */
export function memoryFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(sharedMemory);
    const hasRoom = bavail * bsize >= roomMin.folder && process.availableMemory() >= roomMin.memory;
    return hasRoom && runsPrograms(sharedMemory) ? sharedMemory : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** PostgreSQL's programs are copied beside its data when its user cannot reach them. */
function runsPrograms(folder: string): boolean {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const [, , kind, options = ''] = mounts.findLast((line) => line.split(' ')[1] === folder)?.split(' ') ?? [];
  return kind === 'tmpfs' && !options.split(',').includes('noexec');
}
