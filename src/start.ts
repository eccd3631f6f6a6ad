/** Process: `npm start`. Embedded services where none is configured, migrations, api and worker, supervision. */
import './process/parent-watch.ts';
import { DataDirInUseError } from './dev/embedded/data-dir-lock.ts';
import { StartError, startStack } from './dev/supervisor.ts';
import { createLog } from './log.ts';
import { configOrExit } from './process/entry.ts';

const config = configOrExit(process.env);
const log = createLog({ level: config.logLevel, name: 'start' });
const stopping = Promise.withResolvers<NodeJS.Signals>();
// Later signals change nothing: every step of the stop has its own time limit.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stopping.resolve(signal));

try {
  const stack = await Promise.race([startStack({ config, log, env: process.env }), stopping.promise]);
  if (typeof stack === 'string') {
    log.info('stopped before it was ready', { signal: stack });
    // The guard stops everything started so far.
    process.exit(0);
  }
  const signal = await stopping.promise;
  log.info('stopping', { signal });
  await stack.stop();
  log.info('stopped');
} catch (error) {
  if (error instanceof DataDirInUseError || error instanceof StartError) process.stderr.write(`${error.message}\n`);
  else log.error('start failed', { error });
  process.exitCode = 1;
}
