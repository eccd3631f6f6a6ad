/** Process: serves the REST interface on PORT; on SIGTERM becomes not ready, finishes open requests and stops. */
import { createApp } from './api/app.ts';
import { listen } from './api/server.ts';
import { serveConsole } from './console/console.ts';
import { checkKeyRing } from './control/orgs/key-ring-check.ts';
import { createDeps } from './deps.ts';
import { createLog, isDetailed } from './log.ts';
import { logObservations } from './observed-lines.ts';
import { configOrExit, endOnUncaught } from './process/entry.ts';
import { announceReady, respondToProbes } from './process/parent-watch.ts';
import { serveMetricsOf, startTracesOf } from './telemetry/telemetry.ts';

respondToProbes();
const config = configOrExit(process.env);
const log = createLog({ level: config.logLevel, name: 'api' });
endOnUncaught(log);
logObservations(log, isDetailed(config.logLevel));
const stopping = Promise.withResolvers<NodeJS.Signals>();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stopping.resolve);

await using traces = await startTracesOf('api', config);
await using deps = createDeps(config, log, traces ?? undefined);
await using _metrics = await serveMetricsOf('api', deps);
const stopped = new AbortController();
const app = createApp({ ...deps, isStopping: () => stopped.signal.aborted }, serveConsole);
const server = await listen(traces === null ? app : { fetch: traces.traceRequests(app.fetch) }, config);
log.info('api ready', { host: config.host, port: server.port });
announceReady();
// Concurrent with serving: health responds while the database is away.
const checked = checkKeyRing(deps, stopped.signal);
const signal = await Promise.race([stopping.promise, checked.then(() => stopping.promise)]);
log.info('api stopping', { signal });
stopped.abort();
await server.stop(config.apiDrainSeconds * 1000);
log.info('api stopped');
