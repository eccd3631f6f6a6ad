import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { startWorkerHealth } from '../../src/temporal/worker-health.ts';
import { runWorker } from '../support/service/admin.ts';
import { openTestDatabase } from '../support/service/database.ts';
import { eventually } from '../support/service/eventually.ts';
import { startTcpProxy, type TcpProxy } from '../support/service/tcp-proxy.ts';
import { unusedPort } from '../support/service/temporal-dev-server.ts';
import { useStack } from '../support/service/use-stack.ts';

/** What an orchestrator gives a probe, ms. */
const probeMs = 2000;

const probeOf =
  (port: number) =>
  (path: string, { method = 'GET', withinMs = 10_000 } = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, { method, signal: AbortSignal.timeout(withinMs) });

describe('the health port of a worker', () => {
  const shared = useStack({ collections: {} }, { workers: 0 });
  let proxy: TcpProxy;
  let probe: ReturnType<typeof probeOf>;
  let port: number;
  beforeAll(async () => {
    const { stack } = shared();
    const url = new URL(stack.databaseUrl);
    proxy = await startTcpProxy(Number(url.port), { host: url.hostname });
    url.host = `127.0.0.1:${proxy.port}`;
    port = await unusedPort();
    probe = probeOf(port);
    await stack.startWorker({ WORKER_HEALTH_PORT: String(port), DATABASE_URL: url.href });
  });
  afterAll(() => proxy[Symbol.asyncDispose]());

  it('responds to both probes while the worker runs', async () => {
    const alive = await probe('/healthz');
    expect({ status: alive.status, body: await alive.json() }).toEqual({
      status: 200,
      body: { status: 'ok', service: 'connector-sync' },
    });
    const ready = await eventually('the worker polls', async () => {
      const response = await probe('/readyz');
      return response.ok && response;
    });
    expect(await ready.json()).toEqual({ status: 'ready' });
  });

  it('does not respond within 2 s once the worker is frozen, and responds again when it goes on', async () => {
    const worker = shared().stack.worker();
    await worker.kill('SIGSTOP');
    const frozen = await Promise.allSettled([probe('/healthz', { withinMs: probeMs })]);
    await worker.kill('SIGCONT');
    expect(frozen).toMatchObject([{ status: 'rejected', reason: { name: 'TimeoutError' } }]);
    expect((await probe('/healthz')).status).toBe(200);
  });

  it('is alive but not ready while the database is away, and ready again when it is back', async () => {
    const listenAt = proxy.port;
    await proxy[Symbol.asyncDispose]();
    const away = await probe('/readyz');
    expect({ status: away.status, body: await away.json() }).toEqual({
      status: 503,
      body: { status: 'not_ready', detail: 'the database does not respond' },
    });
    expect((await probe('/healthz')).status).toBe(200);
    const { hostname, port: behind } = new URL(shared().stack.databaseUrl);
    proxy = await startTcpProxy(Number(behind), { host: hostname, listenAt });
    expect(await eventually('the worker is ready again', async () => (await probe('/readyz')).ok)).toBe(true);
  });

  it('is alive but not ready while Temporal is away, and ready again when it is back', async () => {
    const { temporal } = shared().stack;
    await temporal.stop();
    const away = await probe('/readyz');
    expect({ status: away.status, body: await away.json() }).toEqual({
      status: 503,
      body: { status: 'not_ready', detail: 'Temporal does not respond' },
    });
    expect((await probe('/healthz')).status).toBe(200);
    await temporal.start();
    expect(await eventually('the worker is ready again', async () => (await probe('/readyz')).ok)).toBe(true);
  });

  it.each([
    ['GET', '/'],
    ['GET', '/api/health'],
    ['GET', '/healthz/x'],
    ['POST', '/healthz'],
    ['POST', '/readyz'],
  ])('has nothing else: %s %s is a 404', async (method, path) => {
    expect((await probe(path, { method })).status).toBe(404);
  });

  it('is not shared: a second worker at it ends, and its log names the variable and the port', async () => {
    const env = { ...shared().stack.env, WORKER_HEALTH_PORT: String(port) };
    const { exitCode, stdout } = await runWorker(env);
    expect(exitCode).toBe(1);
    expect(stdout).toContain(`WORKER_HEALTH_PORT: another process has port ${port} of 127.0.0.1 (EADDRINUSE)`);
  });

  it('closes with the worker, which ends in an orderly way', async () => {
    const worker = shared().stack.worker();
    await worker.kill('SIGTERM');
    expect(worker.exitCode()).toBe(0);
    await expect(probe('/healthz')).rejects.toThrow('fetch failed');
  });
});

it('says why a worker is not ready: what is away first, and then that it does not poll', async () => {
  await using database = await openTestDatabase();
  const port = await unusedPort();
  let isPolling = false;
  let temporal = Promise.reject<unknown>(new Error('not connected yet'));
  temporal.catch(() => undefined);
  await using _health = await startWorkerHealth({
    host: '127.0.0.1',
    port,
    log: createLog({ level: 'silent', name: 'test' }),
    db: database.db,
    isPolling: () => isPolling,
    reachTemporal: () => temporal,
  });
  const probe = probeOf(port);
  const ready = async () => {
    const response = await probe('/readyz');
    return { status: response.status, body: await response.json() };
  };
  expect((await probe('/healthz')).status).toBe(200);
  const notReady = (detail: string) => ({ status: 503, body: { status: 'not_ready', detail } });
  expect(await ready()).toEqual(notReady('Temporal does not respond'));
  temporal = Promise.resolve();
  expect(await ready()).toEqual(notReady('the worker does not poll'));
  isPolling = true;
  expect(await ready()).toEqual({ status: 200, body: { status: 'ready' } });
});
