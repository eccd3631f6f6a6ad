import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { watchResponses } from './watchdog.ts';

/** Stands for a process: responds to a probe after so many ms; null: never. */
function processThat({ respondsAfterMs, isReady }: { respondsAfterMs: number | null; isReady: boolean }) {
  const child = new EventEmitter();
  const send = (): void => {
    if (respondsAfterMs !== null) setTimeout(() => child.emit('message', 'response'), respondsAfterMs);
  };
  const onSilence = vi.fn<() => void>();
  watchResponses(Object.assign(child, { connected: true, send }) as unknown as ChildProcess, onSilence);
  if (isReady) child.emit('message', 'ready');
  return { onSilence, exit: () => child.emit('exit') };
}

describe('a process that is watched', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it.each([
    ['is ready, 5 s', true, 5_000, 6_100],
    ['loads, 60 s', false, 60_000, 61_100],
  ])('is silent once it has not responded for as long as it may, which when it %s', async (_how, isReady, no, yes) => {
    const { onSilence } = processThat({ respondsAfterMs: null, isReady });
    await vi.advanceTimersByTimeAsync(no);
    expect(onSilence).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(yes - no);
    expect(onSilence).toHaveBeenCalledOnce();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(onSilence).toHaveBeenCalledOnce();
  });

  it('is left alone while it responds at all, however late', async () => {
    const { onSilence } = processThat({ respondsAfterMs: 4_500, isReady: true });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(onSilence).not.toHaveBeenCalled();
  });

  it('is watched no longer once it has ended', async () => {
    const { onSilence, exit } = processThat({ respondsAfterMs: null, isReady: true });
    exit();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(onSilence).not.toHaveBeenCalled();
  });
});

it('a process is not blamed for time in which its supervisor did not run itself', async () => {
  const child = spawn(process.execPath, ['-e', responding], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const onSilence = vi.fn<() => void>();
  watchResponses(child, onSilence);
  await once(child, 'message');
  // As on a machine that is suspended: neither of the two runs.
  child.kill('SIGSTOP');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 8_000);
  child.kill('SIGCONT');
  await once(child, 'message');
  expect(onSilence).not.toHaveBeenCalled();
  child.kill('SIGKILL');
  await once(child, 'exit');
});

const responding = `process.on('message', () => process.send('response')); process.send('ready');`;
