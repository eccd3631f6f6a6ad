/** Loaded by every process of the service: stops it when the process that started it has ended, however that came. */
import { flushCompileCache } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { probe, readyMessage, response } from './probe.ts';

/** Time for an orderly stop after the parent has ended. */
const stopMs = 5000;

if (isMainThread && process.channel) {
  process.once('disconnect', () => {
    process.kill(process.pid, 'SIGTERM');
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), stopMs).unref();
  });
  // A listener of `disconnect` would keep a finished process alive.
  process.channel.unref();
}

/** Tells the supervisor that this process does its work; nothing happens when it was started by hand. */
export function announceReady(): void {
  process.send?.(readyMessage);
  // Node does it at the end of a process; one that is killed leaves nothing for the next start.
  flushCompileCache();
}

/** Responds to the probes of the supervisor for as long as the event loop turns; there are none without a supervisor. */
export function respondToProbes(): void {
  process.on('message', (message) => {
    if (message === probe) process.send?.(response, undefined, undefined, ignoreClosed);
  });
  // A listener of messages would keep a finished process alive.
  process.channel?.unref();
}

/** The supervisor has ended since its request; this process is about to stop. */
const ignoreClosed = (): void => undefined;
