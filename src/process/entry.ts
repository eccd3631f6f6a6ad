import { type Config, ConfigError, configExitCode, loadConfig } from '../config/config.ts';
import type { Log } from '../log.ts';

/** Ends the process on an uncaught error, as Node does, but through the log: Node's own output shows values. */
export function endOnUncaught(log: Pick<Log, 'error'>): void {
  process.on('uncaughtException', (error) => {
    log.error('uncaught error; the process exits', { error });
    process.exit(1);
  });
}

/** The configuration, or the end of the process with exit code 78 and every issue on stderr. */
export function configOrExit(env: NodeJS.ProcessEnv): Config {
  try {
    return loadConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(configExitCode);
  }
}
