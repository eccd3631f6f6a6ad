import type { ChildProcess } from 'node:child_process';
import { probe, readyMessage } from '../process/probe.ts';

/** The milliseconds between two probes. */
const everyMs = 1000;
/** Probes in a row without a response: 5 s of silence, which no garbage collection and no page of records takes. */
const missedMax = 5;
/** The same before a process is ready: loading and bundling take what they take on a busy machine. */
const missedMaxAtStart = 60;

/**
 * Sends probes over the IPC channel of a process until it ends, and calls `onSilence` once when it does not respond.
 * Probes are counted, not time: while this process does not run itself, on a machine that is suspended for instance, it
 * sends none and blames nobody. Over IPC rather than HTTP, because a port can be flooded and closes before the last
 * requests have ended.
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

/** A process that ends between two probes is seen by its end. */
const ignoreClosed = (): void => undefined;
