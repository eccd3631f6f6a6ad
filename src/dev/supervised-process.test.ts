import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '../log.ts';
import { superviseProcess } from './supervised-process.ts';

/** Supervises processes that end when they are told to; `diedFor` ends one and says after how many ms the next one was started. */
function supervised() {
  const children: EventEmitter[] = [];
  const spawn = (): ChildProcess => {
    const child = Object.assign(new EventEmitter(), { exitCode: null, signalCode: null });
    children.push(child);
    return child as unknown as ChildProcess;
  };
  const stop = { signal: 'SIGTERM', timeoutMs: 1000 } as const;
  const guard = { watch() {}, close() {} };
  superviseProcess({ name: 'x', stop, rank: 0, spawn }, { guard, log: createLog({ level: 'silent', name: 'test' }) });
  return {
    async diedFor(): Promise<number> {
      const before = children.length;
      const endedAt = Date.now();
      children.at(-1)?.emit('close', null, 'SIGKILL');
      while (children.length === before) await vi.advanceTimersToNextTimerAsync();
      return Date.now() - endedAt;
    },
  };
}

describe('a process that ends', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is started again at once, and later and later when it ends again and again', async () => {
    const { diedFor } = supervised();
    const pausesMs: number[] = [];
    for (let death = 1; death <= 9; death += 1) pausesMs.push(await diedFor());
    expect(pausesMs[0]).toBeLessThanOrEqual(1);
    expect(pausesMs.slice(1)).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
  });

  it('is started again at once when it had lived for 30 s', async () => {
    const { diedFor } = supervised();
    for (let death = 1; death <= 4; death += 1) await diedFor();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await diedFor()).toBeLessThanOrEqual(1);
    expect(await diedFor()).toBe(250);
  });
});
