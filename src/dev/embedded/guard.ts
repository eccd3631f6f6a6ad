import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Log } from '../../log.ts';
import { identify, type ProcessIdentity, type StopOptions } from './process-table.ts';

/** A process that must not outlive us. Those of a lower `rank` are stopped first. */
interface Ward extends ProcessIdentity, StopOptions {
  readonly rank: number;
}

/** Stops our processes when we die without a chance to do so, even by SIGKILL. */
export interface Guard {
  /** From now on the process is stopped when this process has ended. */
  watch(pid: number, options: StopOptions & { readonly rank: number }): void;
  /** Ends the guard; what is still watched is left alone. */
  close(): void;
}

const program = fileURLToPath(new URL('guardian.ts', import.meta.url));

/**
 * Starts the guard as a process of its own, which sees our end as the end of its IPC channel. It is in another process
 * group, so Ctrl-C does not reach it, and started again when it dies.
 */
export function startGuard(log: Log): Guard {
  const wards = new Map<number, Ward>();
  let closed = false;
  let child = launch();

  function launch(): ChildProcess {
    const guardian = spawn(process.execPath, [program], {
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    guardian.once('error', (error) => log.error('guard could not be started', { error }));
    guardian.once('exit', () => {
      if (closed) return;
      log.warn('guard died, starting it again');
      child = launch();
    });
    guardian.unref();
    guardian.channel?.unref();
    if (wards.size > 0) send(guardian);
    return guardian;
  }

  function send(guardian: ChildProcess): void {
    if (guardian.connected) guardian.send([...wards.values()], ignoreClosed);
  }

  return {
    watch(pid, { rank, signal, timeoutMs }) {
      for (const ward of wards.values()) if (!identify(ward.pid)) wards.delete(ward.pid);
      const identity = identify(pid);
      if (!identity) return;
      wards.set(pid, { ...identity, rank, signal, timeoutMs });
      send(child);
    },
    close() {
      closed = true;
      wards.clear();
      send(child);
      if (child.connected) child.disconnect();
    },
  };
}

/** A guardian that died between two messages is started again and told everything. */
const ignoreClosed = (): void => undefined;
