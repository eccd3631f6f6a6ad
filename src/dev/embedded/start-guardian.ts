import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Log } from '../../log.ts';
import { identify, type ProcessIdentity, type StopOptions } from './process-table.ts';

/** A lower `rank` is stopped first. */
interface Watched extends ProcessIdentity, StopOptions {
  readonly rank: number;
}

/** Stops our processes when we die without a chance to do so, even by SIGKILL. */
export interface Guardian {
  watch(pid: number, options: StopOptions & { readonly rank: number }): void;
  /** Does not stop watched processes. */
  close(): void;
}

const program = fileURLToPath(new URL('guardian.ts', import.meta.url));

/**
 * Notices our end by its IPC channel. In its own process group, so that Ctrl-C does not reach it; restarted when it
 * dies.
 */
export function startGuardian(log: Log): Guardian {
  const watched = new Map<number, Watched>();
  let closed = false;
  let child = launch();

  function launch(): ChildProcess {
    const launched = spawn(process.execPath, [program], {
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    launched.once('error', (error) => log.error('guardian could not be started', { error }));
    launched.once('exit', () => {
      if (closed) return;
      log.warn('guardian died, starting it again');
      child = launch();
    });
    launched.unref();
    launched.channel?.unref();
    if (watched.size > 0) send(launched);
    return launched;
  }

  function send(to: ChildProcess): void {
    if (to.connected) to.send([...watched.values()], ignoreClosed);
  }

  return {
    watch(pid, { rank, signal, timeoutMs }) {
      for (const known of watched.values()) if (!identify(known.pid)) watched.delete(known.pid);
      const identity = identify(pid);
      if (!identity) return;
      watched.set(pid, { ...identity, rank, signal, timeoutMs });
      send(child);
    },
    close() {
      closed = true;
      watched.clear();
      send(child);
      if (child.connected) child.disconnect();
    },
  };
}

/** A guardian that died between two messages is restarted and gets everything. */
const ignoreClosed = (): void => undefined;
