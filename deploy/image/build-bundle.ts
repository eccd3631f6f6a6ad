/** Step of deploy/Dockerfile: bundles the workflows where a worker looks for the bundle, so that it need not do so itself. */
import { loadConfig } from '../../src/config/config.ts';
import { createLog, temporalLogger } from '../../src/log.ts';
import { workflowBundle } from '../../src/temporal/workflow-bundle.ts';

const { cacheDir } = loadConfig({ ...process.env, NODE_ENV: 'development' });
const bundle = await workflowBundle(cacheDir, temporalLogger(createLog({ level: 'warn', name: 'bundle' })));
if (!('codePath' in bundle)) throw new Error(`The bundle was not kept in ${cacheDir}: the reason is above`);
process.stdout.write(`${bundle.codePath}\n`);
