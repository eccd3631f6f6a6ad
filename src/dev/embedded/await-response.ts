import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

export interface AwaitOptions {
  /** Rejects while there is no response. */
  readonly ask: () => Promise<unknown>;
  readonly child: ChildProcess;
  readonly timeoutMs: number;
}

const pollMs = 40;

/**
 * Polls until there is a response.
 * @returns false when the process ended before it responded.
 * @throws Error on timeout; its cause is the last refusal.
 */
export async function awaitResponse({ ask, child, timeoutMs }: AwaitOptions): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return false;
    try {
      await ask();
      return true;
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`No response within ${timeoutMs} ms`, { cause: error });
    }
    await sleep(pollMs);
  }
}
