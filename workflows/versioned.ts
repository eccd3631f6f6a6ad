/**
 * The workflows as versioned workers run them: those that may live for as long as the service does follow the current build,
 * so that a change of them must replay the histories that are open (`patched()`). All others stay on the build that they began
 * on, unless their history is restarted. This file is apart from `index.ts`, because Temporal refuses the tasks of a worker
 * that is not versioned but declares a versioning behavior.
 */
import { setWorkflowOptions } from '@temporalio/workflow';
import { inboundHook } from './inbound-hook.ts';
import { webhookEndpoint } from './webhook-endpoint.ts';

export * from './index.ts';

setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, inboundHook);
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, webhookEndpoint);
