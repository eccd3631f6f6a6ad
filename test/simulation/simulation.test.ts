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

describe('the engine under one seeded scheduler', { timeout: 300_000 }, () => {
  it('loses nothing, delivers nothing twice and ends every run, in every one of 300 interleavings', async () => {
    const { holds, output } = await simulated('--seeds', '300');
    expect(output).toContain('300 seeds, 0 failed');
    expect(holds).toBe(true);
    const events = ['kills of a worker with activities', 'zombies', 'workflows lost', 'batches applied'];
    const webhooks = ['requests taken', 'requests dropped as known', 'batches of an earlier run recorded'];
    const reads = ['reports created', 'reports asked for again', 'groups changed'];
    for (const event of [...events, ...webhooks, ...reads, 'responses with 413', 'records refused by the receiver'])
      expect(output).toMatch(new RegExp(`[1-9]\\d* ${event}\\n`));
  });

  it.each([
    { seed: '7', destination: 'the database', event: 'batch at the destination' },
    { seed: '8', destination: 'a webhook', event: 'request to the receiver' },
  ])('gives the same events for the same seed that delivers to $destination', async ({ seed, event }) => {
    const [first, second] = await Promise.all([simulated('--seed', seed), simulated('--seed', seed)]);
    expect(first.output).toContain(event);
    const withoutSpeed = ({ output }: { readonly output: string }) => output.replace(/, [\d.]+ seeds\/s/, '');
    expect(withoutSpeed(first)).toBe(withoutSpeed(second));
    expect(first.output.split('\n').length).toBeGreaterThan(50);
  });

  it.each(plants.map(({ name }) => name))('finds the planted bug within 2,000 seeds: %s', async (name) => {
    const { holds, output } = await simulated('--seeds', '2000', '--plant', name);
    expect(output).toMatch(/^seed \d+:$/m);
    expect(holds).toBe(false);
  });

  it('finds by its seed the bug of this engine that is planted again', async () => {
    const { output } = await simulated('--seed', '8', '--plant', 'a request that may have been sent is halved unsent');
    expect(output).toContain('1 seeds, 1 failed');
  });

  it('holds at the seed of a bug that it found', async () => {
    expect((await simulated('--seed', '8')).output).toContain('1 seeds, 0 failed');
  });
});
