/**
 * How many times as long `large` takes as `small`: the least of up to five tries. Work whose time grows with the
 * square of its input shows that on every try; a busy machine delays some tries only.
 */
export function leastGrowth(small: () => unknown, large: () => unknown, enough: number): number {
  const growth = () => shortest(large) / Math.max(shortest(small), 0.5);
  let least = growth();
  for (let tries = 1; tries < 5 && least >= enough; tries += 1) least = Math.min(least, growth());
  return least;
}

/** The time of the faster of two runs, in milliseconds. */
const shortest = (work: () => unknown): number => Math.min(cpuMsOf(work), cpuMsOf(work));

/** The milliseconds that the processor works for this thread: other work of the machine does not count. */
export function cpuMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
