/**
 * Ratio of the time of `large` to that of `small`, the least of up to five tries. Quadratic work shows on every try; a
 * busy machine delays only some.
 */
export function leastGrowth(small: () => unknown, large: () => unknown, enough: number): number {
  const growth = () => shortest(large) / Math.max(shortest(small), 0.5);
  let least = growth();
  for (let tries = 1; tries < 5 && least >= enough; tries += 1) least = Math.min(least, growth());
  return least;
}

const shortest = (work: () => unknown): number => Math.min(cpuMsOf(work), cpuMsOf(work));

/** CPU milliseconds of this thread, so other work of the machine does not count. */
export function cpuMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
