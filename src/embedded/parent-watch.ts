/** Loaded by every process of the service: stops it when the process that started it is gone, however that died. */
import { isMainThread } from 'node:worker_threads';

/** Time for an orderly stop after the parent is gone. */
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
  process.send?.('ready');
}
