/** Stops every process of the service when the process that started it has ended, in any way. */
import { flushCompileCache } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { probe, readyMessage, response } from './probe.ts';

const stopMs = 5000;

if (isMainThread && process.channel) {
  process.once('disconnect', () => {
    process.kill(process.pid, 'SIGTERM');
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), stopMs).unref();
  });
  // A listener of `disconnect` would keep a finished process alive.
  process.channel.unref();
}

/** Does nothing if the process was started by hand. */
export function announceReady(): void {
  process.send?.(readyMessage);
  // Node flushes it at the end of a process; a killed process would leave no cache for the next start.
  flushCompileCache();
}

/** Responds only while the event loop turns, which is what the supervisor probes. */
export function respondToProbes(): void {
  process.on('message', (message) => {
    if (message === probe) process.send?.(response, undefined, undefined, ignoreClosed);
  });
  // A listener of messages would keep a finished process alive.
  process.channel?.unref();
}

/** The supervisor has ended since its request; this process is about to stop. */
const ignoreClosed = (): void => undefined;
