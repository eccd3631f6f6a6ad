import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { plants } from './plants.ts';

const program = new URL('simulate.ts', import.meta.url).pathname;

/** What the simulation prints, and whether every seed holds. */
const simulated = (...args: readonly string[]): Promise<{ readonly holds: boolean; readonly output: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], (error, stdout, stderr) =>
      resolve({ holds: error === null, output: stdout + stderr }),
    );
  });

describe('the engine under one seeded scheduler', { timeout: 900_000 }, () => {
  it('loses nothing, delivers nothing twice and ends every run, in every one of 300 interleavings', async () => {
    const { holds, output } = await simulated('--seeds', '300');
    expect(output).toContain('300 seeds, 0 failed');
    expect(holds).toBe(true);
    const events = ['kills of a worker with activities', 'zombies', 'workflows lost', 'batches applied'];
    const webhooks = ['requests taken', 'requests dropped as known', 'batches of an earlier run recorded'];
    const reports = ['reports created', 'reports asked for again', 'groups changed'];
    const reads = ['responses without a change', 'windows that are cut', 'backfills', 'tables restored', 'rewinds'];
    for (const event of [
      ...events,
      ...webhooks,
      ...reports,
      ...reads,
      'responses with 413',
      'records refused by the receiver',
    ])
      expect(output).toMatch(new RegExp(`[1-9]\\d* ${event}\\n`));
  });

  it.each([
    { seed: '7', destination: 'the database', event: 'batch at the destination' },
    { seed: '8', destination: 'a webhook', event: 'request to the receiver' },
  ])('gives the same events for the same seed that delivers to $destination', async ({ seed, event }) => {
    const [first, second] = await Promise.all([simulated('--seed', seed), simulated('--seed', seed)]);
    expect(first.output).toContain(event);
    // Sealed texts differ each time, by their nonce.
    const events = ({ output }: { readonly output: string }) =>
      output.replace(/, [\d.]+ seeds\/s/, '').replaceAll(/sealed:[\w.-]+/g, 'sealed');
    expect(events(first)).toBe(events(second));
    expect(first.output.split('\n').length).toBeGreaterThan(50);
  });

  it.each(plants.map(({ name }) => name))('finds the planted bug within 2,000 seeds: %s', async (name) => {
    const { holds, output } = await simulated('--seeds', '2000', '--plant', name);
    expect(output).toMatch(/^seed \d+:$/m);
    expect(holds).toBe(false);
  });

  it('finds a planted bug again by its seed alone, at which the engine holds without it', async () => {
    const plant = ['--plant', 'the ledger is committed before the destination'];
    const seed = /^seed (\d+):$/m.exec((await simulated('--seeds', '2000', ...plant)).output)?.[1] ?? '';
    expect((await simulated('--seed', seed, ...plant)).output).toContain('1 seeds, 1 failed');
    expect((await simulated('--seed', seed)).output).toContain('1 seeds, 0 failed');
  });
});
