/** What every process entry point does around its work. */
import { type Config, ConfigError, configExitCode, loadConfig } from './config.ts';

/** The configuration, or the end of the process with exit code 78 and every fault on stderr. */
export function configOrExit(env: NodeJS.ProcessEnv): Config {
  try {
    return loadConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(configExitCode);
  }
}
