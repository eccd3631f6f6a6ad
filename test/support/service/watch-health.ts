/** Between two probes of the API's health, ms. */
const probeEveryMs = 50;

/** Asks for the health of the API again and again; stopping it gives how long each response took, ms. */
export function watchHealth(apiUrl: string): Disposable & { stop(): readonly number[] } {
  const durations: number[] = [];
  const probe = async (): Promise<void> => {
    const startedAt = performance.now();
    const response = await fetch(`${apiUrl}/api/health`);
    await response.arrayBuffer();
    durations.push(response.ok ? performance.now() - startedAt : Number.POSITIVE_INFINITY);
  };
  const failed = () => void durations.push(Number.POSITIVE_INFINITY);
  const timer = setInterval(() => void probe().catch(failed), probeEveryMs);
  const stop = () => clearInterval(timer);
  return {
    stop: () => {
      stop();
      return durations;
    },
    [Symbol.dispose]: stop,
  };
}

/** The value that this share of all does not exceed. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.POSITIVE_INFINITY;

/** Whether the process is there still. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
