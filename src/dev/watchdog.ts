import type { ChildProcess } from 'node:child_process';
import { probe, readyMessage } from '../process/probe.ts';

const everyMs = 1000;
/** 5 s of silence in a row, longer than any garbage collection or page of records. */
const missedMax = 5;
/** Before a process is ready: loading and bundling take long on a busy machine. */
const missedMaxAtStart = 60;

/**
 * Calls `onSilence` once. Counts probes, not time: while this process is suspended, it sends none and misses none. IPC
 * rather than HTTP, because a port can be flooded and closes before the last requests have ended.
 */
export function watchResponses(child: ChildProcess, onSilence: () => void): void {
  let missed = 0;
  let most = missedMaxAtStart;
  const timer = setInterval(() => {
    if (missed === most) {
      clearInterval(timer);
      onSilence();
    } else {
      missed += 1;
      if (child.connected) child.send(probe, ignoreClosed);
    }
  }, everyMs);
  child.on('message', (message) => {
    missed = 0;
    if (message === readyMessage) most = missedMax;
  });
  child.once('exit', () => clearInterval(timer));
}

/** The exit event reports a process that ends between two probes. */
const ignoreClosed = (): void => undefined;
