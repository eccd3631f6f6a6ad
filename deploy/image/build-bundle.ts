/** Step of deploy/Dockerfile: bundles the workflows, for plain and for versioned workers, where a worker looks for them. */
import { loadConfig } from '../../src/config/config.ts';
import { createLog, temporalLogger } from '../../src/log.ts';
import { workflowBundle } from '../../src/temporal/workflow-bundle.ts';

const { cacheDir } = loadConfig({ ...process.env, NODE_ENV: 'development' });
const logger = temporalLogger(createLog({ level: 'warn', name: 'bundle' }));
for (const isVersioned of [false, true]) {
  const bundle = await workflowBundle(cacheDir, { isVersioned, logger });
  if (!('codePath' in bundle)) throw new Error(`The bundle was not kept in ${cacheDir}: the reason is above`);
  process.stdout.write(`${bundle.codePath}\n`);
}
