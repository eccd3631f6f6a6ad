/**
 * Step of deploy/Dockerfile: bundles the workflows where a worker looks for them, for plain and for versioned workers, each
 * without and with traces.
 */
import { loadConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { workflowModules } from '../../src/telemetry/traces/traces.ts';
import { temporalLogger } from '../../src/temporal/temporal-logger.ts';
import { workflowBundle } from '../../src/temporal/workflow-bundle.ts';

const { cacheDir } = loadConfig({ ...process.env, NODE_ENV: 'development' });
const logger = temporalLogger(createLog({ level: 'warn', name: 'bundle' }));
for (const isVersioned of [false, true]) {
  for (const workflowInterceptorModules of [[], workflowModules]) {
    const bundle = await workflowBundle(cacheDir, { isVersioned, logger, workflowInterceptorModules });
    if (!('codePath' in bundle)) throw new Error(`The bundle was not kept in ${cacheDir}: the reason is above`);
    process.stdout.write(`${bundle.codePath}\n`);
  }
}
