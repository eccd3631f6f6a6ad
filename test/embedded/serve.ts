/** Process under test: starts the embedded services of DATA_DIR, prints where they are as one line, stops on SIGTERM. */
import { loadConfig } from '../../src/config/config.ts';
import { startEmbedded } from '../../src/dev/embedded/services.ts';
import { createLog } from '../../src/log.ts';

const stopping = Promise.withResolvers<void>();
process.once('SIGTERM', () => stopping.resolve());
// stdout is for the one line the test reads.
const log = createLog({
  level: 'info',
  name: 'serve',
  destination: { write: (line) => void process.stderr.write(line) },
});
try {
  const services = await startEmbedded(loadConfig(process.env), log);
  const { guardian: _, env: __, stop, pids, ...places } = services;
  process.stdout.write(`${JSON.stringify({ ...places, pids: pids() })}\n`);
  await stopping.promise;
  await stop();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
