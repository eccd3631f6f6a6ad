import type { Stack } from '../support/service/stack.ts';
import { unusedPort } from '../support/service/temporal-dev-server.ts';
import type { Subject } from './lookout.ts';

/** A worker, and the settings of another one in its place. */
export interface Worker {
  process: Awaited<ReturnType<Stack['startWorker']>>;
  readonly settings: Readonly<Record<'METRICS_PORT' | 'WORKER_HEALTH_PORT', string>>;
}

/** Starts one with ports of its own. */
export async function startWorker(stack: Stack): Promise<Worker> {
  const [metricsPort, healthPort] = [await unusedPort(), await unusedPort()];
  const settings = { METRICS_PORT: String(metricsPort), WORKER_HEALTH_PORT: String(healthPort) };
  return { settings, process: await stack.startWorker(settings) };
}

/** API and workers, as the probes of an orchestrator see them. */
export function probed({ apiUrl }: Stack, workers: readonly Worker[]): Subject {
  const ports = workers.map(({ settings }, place) => [`worker ${place + 1}`, settings.WORKER_HEALTH_PORT] as const);
  const urls = [
    ['API', `${apiUrl}/api/health/ready`] as const,
    ...ports.map(([name, port]) => [name, `http://127.0.0.1:${port}/readyz`] as const),
  ];
  const signs = async () =>
    Object.fromEntries(
      await Promise.all(urls.map(async ([name, url]) => [`probe of ${name}`, await probe(url)] as const)),
    );
  return {
    signs,
    trouble: async () => Object.values(await signs()).find((sign) => sign !== null) ?? null,
    lost: async () => 0,
    doubled: async () => 0,
  };
}

async function probe(url: string): Promise<string | null> {
  try {
    const response = await fetch(url);
    const { detail = 'not ready' } = (await response.json()) as { readonly detail?: string };
    return response.ok ? null : detail;
  } catch {
    return 'no response';
  }
}
