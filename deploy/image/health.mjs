/** HEALTHCHECK of the image: exit code 0 if the process of this container, an API or a worker, responds. */
const { PORT = '3100', WORKER_HEALTH_PORT = '3101' } = process.env;
const timeoutMs = 2000;

const probes = [`http://127.0.0.1:${PORT}/api/health`, `http://127.0.0.1:${WORKER_HEALTH_PORT}/healthz`];
const responses = await Promise.allSettled(probes.map((url) => fetch(url, { signal: AbortSignal.timeout(timeoutMs) })));
process.exitCode = responses.some(({ value }) => value?.ok) ? 0 : 1;
